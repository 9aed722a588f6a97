#pragma once

// For tests: random reports, with everything that can go wrong in them.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/random.h"
#include "search/stopper.h"

namespace sluice {

// Losses with few different values, so that there are ties, and with all that a diverging program
// can print.
inline double AnyLoss(Random& random) {
  switch (random.Below(12)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return std::numeric_limits<double>::infinity();
    case 2: return random.Chance(0.1) ? -std::numeric_limits<double>::infinity() : -0.0;
    case 3: return random.Normal();
    default: return static_cast<double>(random.Below(10));
  }
}

// The work at which a trial at `work` may report next: often at its target, often one unit further,
// sometimes past several rungs.
inline Work AnyNextWork(Random& random, Work work, Work target) {
  if (target > work && random.Chance(0.4)) return target;
  if (random.Chance(0.6)) return work + 1;
  const auto far = static_cast<Work>(random.Below(10)) + 1;
  return random.Chance(0.3) ? work * far + 1 : work + far;
}

inline StopperSpec AnySpec(Random& random, std::string name) {
  StopperSpec spec = {.name = std::move(name)};
  spec.min_budget = static_cast<Work>(1 + random.Below(3));
  spec.max_budget =
      spec.min_budget + static_cast<Work>(random.Below(random.Chance(0.5) ? 10 : 100));
  spec.eta = static_cast<std::int64_t>(2 + random.Below(3));
  spec.percentile = static_cast<double>(random.Below(401)) / 4;
  spec.startup = static_cast<std::int64_t>(random.Below(4));
  spec.min_trials = static_cast<std::int64_t>(1 + random.Below(3));
  spec.patience = static_cast<Work>(1 + random.Below(8));
  spec.min_delta = random.Chance(0.5) ? 0 : 1;
  spec.bracket = static_cast<std::int64_t>(random.Chance(0.5) ? 0 : 1 + random.Below(20));
  if (spec.max_budget > 1 && random.Chance(0.7)) {
    const auto longest = static_cast<std::uint64_t>(std::min<Work>(spec.max_budget - 1, 20));
    spec.interval = static_cast<Work>(1 + random.Below(longest));
  }
  spec.quantile = static_cast<double>(1 + random.Below(500)) / 1000;
  spec.seed = random.Next();
  return spec;
}

}  // namespace sluice
