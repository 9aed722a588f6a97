#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sim/world/event_queue.h"
#include "sim/world/simulated_launch.h"

namespace sluice {

constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

// The launches that live, each in a slot, and the next moment of each. A slot is used again once
// its launch has ended. A launch has at most one moment that counts: scheduling another makes the
// earlier one void, although it stays in the queue.
class LaunchTable {
 public:
  // The queue must outlive the table.
  explicit LaunchTable(EventQueue& queue) : queue_(queue) {}

  // Returns the slot of a new launch. Only the launch's trial and id are set.
  std::uint32_t Open(TrialKey trial, LaunchId id);
  // Removes the launch.
  void Close(std::uint32_t slot);

  // The slot of that launch; kNoSlot if it does not live.
  std::uint32_t Find(TrialKey trial, LaunchId id) const {
    if (Number(trial.study) > slots_.size()) return kNoSlot;
    const std::vector<std::uint32_t>& slots = slots_[Number(trial.study) - 1];
    const std::uint32_t slot =
        Number(trial.trial) < slots.size() ? slots[Number(trial.trial)] : kNoSlot;
    return slot != kNoSlot && launches_[slot].id == id ? slot : kNoSlot;
  }
  bool Lives(std::uint32_t slot) const {
    return Find(launches_[slot].trial, launches_[slot].id) == slot;
  }

  // Slots are numbered from 0 on; not all of them hold a launch that lives.
  std::uint32_t size() const { return static_cast<std::uint32_t>(launches_.size()); }
  // The reference stays valid while other launches come and go.
  SimulatedLaunch& operator[](std::uint32_t slot) { return launches_[slot]; }
  const SimulatedLaunch& operator[](std::uint32_t slot) const { return launches_[slot]; }

  void Schedule(Time time, Moment::What what, std::uint32_t slot) {
    queue_.Push(time, {.what = what, .index = slot, .counter = ++launches_[slot].version});
  }
  // Makes the launch's next moment void.
  void Unschedule(std::uint32_t slot) { ++launches_[slot].version; }
  // Whether a moment is the one of its launch that counts.
  bool IsCurrent(const Moment& moment) const {
    return launches_[moment.index].version == moment.counter;
  }

 private:
  EventQueue& queue_;
  std::deque<SimulatedLaunch> launches_;  // a deque: launches do not move in memory
  std::vector<std::uint32_t> free_;
  std::vector<std::vector<std::uint32_t>> slots_;  // by study and by trial
};

}  // namespace sluice
