#include "search/rungs.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

Rungs::Rungs(const StopperSpec& spec) : max_budget_(spec.max_budget) {
  SLUICE_CHECK(spec.min_budget >= 1 && spec.eta >= 2, "rungs begin at 1 or later and rise");
  for (Work level = spec.min_budget; level < max_budget_; level *= spec.eta) {
    levels_.push_back(level);
    if (level > max_budget_ / spec.eta) break;  // the next one would pass it, or overflow
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

}  // namespace sluice
