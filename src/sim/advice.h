#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics.h"

namespace sluice {

// A policy that was simulated, the seeds the same for all.
struct Contender {
  std::string policy;
  std::vector<double> losses;  // of each seed, smaller is better; NaN: it came to nothing
  bool can_run = true;         // and not only be simulated
};

enum class Standing { kBetter, kSame, kWorse };

// One beside another, seed by seed.
struct Comparison {
  Estimate gain;  // the other's loss less its own: mean and interval
  Standing standing = Standing::kSame;
};

struct AdviceOptions {
  std::string_view simplest = "fifo";
  double least_gain = 0;  // below this part of the other's loss a difference is none
};

// Which policy to take, and what that rests on.
struct Advice {
  std::size_t baseline = 0;                // the simplest, or the first where that is not there
  std::vector<Comparison> beside;          // each beside the baseline
  std::size_t advised = 0;                 // of those that can run
  std::vector<std::size_t> as_good;        // others that can run and differ from it by noise only
  std::optional<std::size_t> only_in_sim;  // the best of those that cannot run, if better than it
};

// A policy is better than another where the interval of the mean difference over pairs with the same
// seed excludes zero, and the difference is not too small to matter. The intervals hold with 95 % for
// all contenders at once (Bonferroni): the more are compared, the more one of them has to be better
// by. Advised is whoever is better than the simplest by most, and the simplest where nobody is. A run
// that came to nothing counts as the worst run of all. There is a contender that can run.
Advice Advise(std::span<const Contender> contenders, const AdviceOptions& options);

}  // namespace sluice
