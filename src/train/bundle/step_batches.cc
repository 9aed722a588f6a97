#include "train/bundle/step_batches.h"

#include <algorithm>

namespace sluice::train {

Result<Batch> StepBatches::ForTraining(std::span<const std::int64_t> steps) {
  const std::lock_guard lock(mutex_);
  const bool is_shared = std::ranges::all_of(steps, [&](auto step) { return step == steps[0]; });
  if (!is_shared) return batches_.ForTraining(steps);
  if (!shared_ || step_ != steps[0]) {
    shared_.reset();
    SLUICE_ASSIGN(shared_, batches_.ForTraining(steps));
    step_ = steps[0];
  }
  return *shared_;
}

}  // namespace sluice::train
