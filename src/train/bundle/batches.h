#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "train/value.h"

namespace sluice::train {

// What a network is given for a step, and what its output is compared with.
struct Batch {
  std::vector<Value> inputs;  // of the network, in its order
  Value target;               // none if the network computes its own loss from its inputs
  std::int64_t examples = 0;
};

// Where batches come from. The batch of a step of training depends on the step alone.
class Batches {
 public:
  virtual ~Batches() = default;

  // How many examples a batch of training has.
  virtual std::int64_t batch() const = 0;
  virtual std::int64_t steps_per_epoch() const = 0;
  // The batches of trials that are at these steps. If all steps are equal, the batch is shared;
  // otherwise each batch is read once and then gathered, with the trials in front.
  virtual Result<Batch> ForTraining(std::span<const std::int64_t> steps) = 0;

  // How many examples there are to evaluate on; 0: none.
  virtual std::int64_t evaluation_examples() const = 0;
  // So many of them, from this one on. May be called by several threads at once.
  virtual Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const = 0;
};

}  // namespace sluice::train
