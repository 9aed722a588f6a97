#pragma once

#include <cstddef>
#include <vector>

#include "search/stopper.h"

namespace sluice {

// The work at which trials are judged: min_budget * eta^k while that is below max_budget, in
// integers. Beyond the last rung lies max_budget itself, where a trial is complete.
class Rungs {
 public:
  // Takes a spec that MakeStopper accepts: 1 <= min_budget <= max_budget, eta >= 2.
  explicit Rungs(const StopperSpec& spec);

  std::size_t size() const { return levels_.size(); }
  Work max_budget() const { return max_budget_; }
  // The work at which rung k lies; max_budget for k == size().
  Work Target(std::size_t k) const;
  // How many rungs lie at or below this work.
  std::size_t Passed(Work work) const;

 private:
  std::vector<Work> levels_;
  Work max_budget_;
};

// A stopper's state begins with its rungs. AreRungsOf reads them, and returns false if they are not
// the rungs of `spec`.
void SaveRungs(StateWriter& writer, const StopperSpec& spec);
bool AreRungsOf(const StopperSpec& spec, StateReader& reader);

}  // namespace sluice
