#pragma once

#include <cstddef>
#include <vector>

#include "search/stopper.h"

namespace sluice {

// Where trials are judged: min_budget * eta^k while below max_budget, in integers. Beyond the last
// rung lies max_budget itself, where a trial is complete.
class Rungs {
 public:
  // Of a spec that MakeStopper takes: 1 <= min_budget <= max_budget, eta >= 2.
  explicit Rungs(const StopperSpec& spec);

  std::size_t size() const { return levels_.size(); }
  Work max_budget() const { return max_budget_; }
  // The work at which rung k lies, max_budget for k == size().
  Work Target(std::size_t k) const;
  // How many rungs lie at or below this work.
  std::size_t Passed(Work work) const;

 private:
  std::vector<Work> levels_;
  Work max_budget_;
};

// What a stopper's state says first: the rungs that it is of. Reading is false if they are others.
void SaveRungs(StateWriter& writer, const StopperSpec& spec);
bool AreRungsOf(const StopperSpec& spec, StateReader& reader);

}  // namespace sluice
