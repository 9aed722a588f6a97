#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/random.h"

namespace sluice::data {

// The order of examples in training. An epoch is a permutation of all examples, drawn from the seed
// and the epoch's number alone: Fisher-Yates on Random(seed).Fork("order").Fork(epoch), from the
// last place down. Batches are cut from it one after the other. So the examples of a step depend on
// the seed, the batch size and the step, and training may begin at any step.
class BatchOrder {
 public:
  static constexpr std::int64_t kMostExamples = std::int64_t{1} << 32;
  struct Options {
    std::int64_t examples = 0;  // from 1 to kMostExamples
    std::int64_t batch = 0;     // from 1 on
    // Leaves out what remains of an epoch after its last whole batch; which examples these are
    // differs from epoch to epoch. Otherwise that batch is smaller. An epoch of less than one batch
    // always has one, with all examples.
    bool drop_last = true;
    std::uint64_t seed = 0;
  };
  explicit BatchOrder(const Options& options);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t EpochOf(std::int64_t step) const { return step / steps_per_epoch_; }
  // The examples of step 0, 1, ... A step of an epoch that was not asked for lately takes time
  // proportional to the number of examples.
  std::vector<std::int64_t> At(std::int64_t step);

 private:
  const std::vector<std::uint32_t>& Permutation(std::int64_t epoch);

  Options options_;
  std::int64_t steps_per_epoch_;
  // Of the epochs asked for last, the latest at the end: members of a bundle may be at different
  // steps.
  std::deque<std::pair<std::int64_t, std::vector<std::uint32_t>>> epochs_;
};

}  // namespace sluice::data
