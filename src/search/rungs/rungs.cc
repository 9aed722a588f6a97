#include "search/rungs/rungs.h"

#include <algorithm>

#include "base/check.h"
#include "base/state.h"

namespace sluice {

Rungs::Rungs(const StopperSpec& spec) : max_budget_(spec.max_budget) {
  SLUICE_CHECK(spec.min_budget >= 1 && spec.eta >= 2, "rungs begin at 1 or later and rise");
  for (Work level = spec.min_budget; level < max_budget_; level *= spec.eta) {
    levels_.push_back(level);
    if (level > max_budget_ / spec.eta) break;  // the next level would be too high, or overflow
  }
}

Work Rungs::Target(std::size_t k) const {
  SLUICE_CHECK(k <= levels_.size(), "a trial's next rung is one of the rungs or the full budget");
  return k < levels_.size() ? levels_[k] : max_budget_;
}

std::size_t Rungs::Passed(Work work) const {
  return static_cast<std::size_t>(std::upper_bound(levels_.begin(), levels_.end(), work) -
                                  levels_.begin());
}

void SaveRungs(StateWriter& writer, const StopperSpec& spec) {
  writer.Put(spec.min_budget);
  writer.Put(spec.max_budget);
  writer.Put(spec.eta);
}

bool AreRungsOf(const StopperSpec& spec, StateReader& reader) {
  StopperSpec read = spec;
  reader.Get(read.min_budget);
  reader.Get(read.max_budget);
  reader.Get(read.eta);
  return reader.ok() && read.min_budget == spec.min_budget && read.max_budget == spec.max_budget &&
         read.eta == spec.eta;
}

}  // namespace sluice
