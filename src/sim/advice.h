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
  std::vector<double> losses;  // of each seed, smaller is better; NaN: the run has no result
  bool can_run = true;         // false: the policy can only be simulated
};

enum class Standing { kBetter, kSame, kWorse };

// One policy compared with another, seed by seed.
struct Comparison {
  Estimate gain;  // the other policy's loss minus this policy's loss: mean and interval
  Standing standing = Standing::kSame;
};

struct AdviceOptions {
  std::string_view simplest = kDefaultPolicy;
  // A difference of at most this fraction of the other policy's loss counts as no difference.
  double least_gain = 0;
};

// The policy to take, and the comparisons behind that choice.
struct Advice {
  std::size_t baseline = 0;        // the simplest policy, or the first, of those that can run
  std::vector<Comparison> beside;  // each contender compared with the baseline
  std::size_t advised = 0;         // the policy to take, one that can run
  // Other policies that can run and differ from the advised one by noise only.
  std::vector<std::size_t> as_good;
  // The best policy of those that cannot run, if it is better than the advised one.
  std::optional<std::size_t> only_in_sim;
};

// A policy is better than another if two things hold: the interval of the mean difference, over
// pairs of runs with the same seed, excludes zero, and the difference is not too small to matter.
// The chance that all intervals together are right is 95 % (Bonferroni). So the more policies are
// compared, the larger a gain has to be. The advised policy is the one with the largest gain over
// the baseline, or the baseline itself if no policy is better. A run without a result (NaN) counts
// as the worst run of all. At least one contender must be able to run.
Advice Advise(std::span<const Contender> contenders, const AdviceOptions& options);

}  // namespace sluice
