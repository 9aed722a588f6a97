#pragma once

#include <cstdint>
#include <vector>

#include "model/graph.h"
#include "train/bundle/batches.h"

namespace sluice::train {

// Batches for any network, to see whether it is trained alike in every bundle: numbers that depend
// on the step and the input alone. Real ones are normally distributed, whole numbers are 0 and 1.
class DrawnBatches : public Batches {
 public:
  static constexpr std::int64_t kBatch = 4;
  static constexpr std::int64_t kStepsPerEpoch = 5;
  static constexpr std::int64_t kEvaluated = 10;

  DrawnBatches(const model::Graph& graph, at::ScalarType real);

  std::int64_t batch() const override { return kBatch; }
  std::int64_t steps_per_epoch() const override { return kStepsPerEpoch; }
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override;
  std::int64_t evaluation_examples() const override { return kEvaluated; }
  Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const override;

 private:
  struct Input {
    Sizes sizes;  // -1: the batch
    bool real = true;
  };
  Batch At(std::int64_t step, std::int64_t examples) const;

  at::ScalarType real_;
  std::vector<Input> inputs_;
};

// Makes the network return one number, the mean of the squares of all its real outputs, so that it
// can be trained without targets.
void ReturnSquares(model::Graph& graph);

// Adds a target to the inputs for each real output, and makes the network return the mean of the
// squares of the differences between outputs and targets.
void ReturnDistances(model::Graph& graph);

}  // namespace sluice::train
