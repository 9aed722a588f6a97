#include "sim/world/launch_table.h"

namespace sluice {

std::uint32_t LaunchTable::Open(TrialKey trial, LaunchId id) {
  std::uint32_t slot = size();
  if (free_.empty()) {
    launches_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  // The version continues from the slot's previous launch. Void moments of that launch may still be
  // in the queue.
  SimulatedLaunch& launch = launches_[slot];
  const std::uint32_t version = launch.version;
  launch = {};
  launch.version = version;
  launch.trial = trial;
  launch.id = id;
  if (Number(trial.study) > slots_.size()) slots_.resize(Number(trial.study));
  std::vector<std::uint32_t>& slots = slots_[Number(trial.study) - 1];
  if (Number(trial.trial) >= slots.size()) slots.resize(Number(trial.trial) + 1, kNoSlot);
  slots[Number(trial.trial)] = slot;
  return slot;
}

void LaunchTable::Close(std::uint32_t slot) {
  const TrialKey trial = launches_[slot].trial;
  slots_[Number(trial.study) - 1][Number(trial.trial)] = kNoSlot;
  Unschedule(slot);
  free_.push_back(slot);
}

}  // namespace sluice
