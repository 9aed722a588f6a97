#pragma once

// For tests: short forms of rulings.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/stopper.h"

namespace sluice {

inline Ruling GoOn(std::uint32_t trial, Work target) {
  return {TrialId(trial), Verdict::kGoOn, target};
}
inline Ruling Pause(std::uint32_t trial) { return {TrialId(trial), Verdict::kPause}; }
inline Ruling Stop(std::uint32_t trial) { return {TrialId(trial), Verdict::kStop}; }

// The trials that go on next; empty if none does.
inline std::vector<Advance> NextOf(Stopper& stopper) {
  const std::optional<TrialGroup> group = stopper.Next();
  return group ? group->members : std::vector<Advance>{};
}

}  // namespace sluice
