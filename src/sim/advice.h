#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_table.h"
#include "sim/metrics.h"

namespace sluice {

// A policy that was simulated. All contenders were run with the same seeds.
struct Contender {
  std::string policy;
  std::vector<double> losses;  // of each seed, smaller is better; NaN: the run came to nothing
  bool can_run = true;         // false: it can only be simulated
};

enum class Standing { kBetter, kSame, kWorse };

// One policy beside another, seed by seed.
struct Comparison {
  Estimate gain;  // the other policy's loss less its own: mean and interval
  Standing standing = Standing::kSame;
};

struct AdviceOptions {
  std::string_view simplest = kDefaultPolicy;
  // A difference of at most this part of the other policy's loss counts as none.
  double least_gain = 0;
};

// Which policy to take, and what that rests on.
struct Advice {
  std::size_t baseline = 0;        // the simplest policy, or the first, of those that can run
  std::vector<Comparison> beside;  // each contender beside the baseline
  std::size_t advised = 0;         // the policy to take, one that can run
  // Other policies that can run and differ from the advised one by noise only.
  std::vector<std::size_t> as_good;
  // The best policy of those that cannot run, if it is better than the advised one.
  std::optional<std::size_t> only_in_sim;
};

// A policy is better than another if two things hold: the interval of the mean difference, over
// pairs of runs with the same seed, excludes zero, and the difference is not too small to matter.
// The intervals hold with 95 % for all contenders at once (Bonferroni): the more policies are
// compared, the larger a gain has to be. The advised policy is the one with the largest gain over
// the baseline, or the baseline itself where no policy is better. A run that came to nothing counts
// as the worst run of all. At least one contender can run.
Advice Advise(std::span<const Contender> contenders, const AdviceOptions& options);

}  // namespace sluice
