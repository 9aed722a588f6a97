#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "train/bundle/batches.h"

namespace sluice::train {

// The batches of one step of a group, whose stacks may train side by side. Stacks whose trials are
// at the same step share a batch, which is read once.
class StepBatches : public Batches {
 public:
  // `batches` outlives this object.
  explicit StepBatches(Batches& batches) : batches_(batches) {}

  std::int64_t batch() const override { return batches_.batch(); }
  std::int64_t steps_per_epoch() const override { return batches_.steps_per_epoch(); }
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override;
  std::int64_t evaluation_examples() const override { return batches_.evaluation_examples(); }
  Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const override {
    return batches_.ForEvaluation(first, count);
  }

 private:
  Batches& batches_;
  std::mutex mutex_;
  // The batch that was shared last, and its step. More of them would take memory.
  std::optional<Batch> shared_;
  std::int64_t step_ = 0;
};

}  // namespace sluice::train
