#pragma once

#include <cstdint>

#include "recipe/trial_recipe.h"

namespace sluice::train {

// The learning rate of a trial's update `step`, the first of which is 0. `steps_per_unit` is how
// many updates are one unit of the study's work (epoch or step), and need not be whole.
//
// Lengths of the schedule are rounded to whole steps, to at least one; a warm-up of less than half
// a step is none. What each schedule does:
//   warm-up      rises in equal steps to lr, which its last update has. Then the schedule begins at
//                its own step 0.
//   constant     lr
//   step         torch.optim.lr_scheduler.StepLR, with the step called after each update
//   multi-step   MultiStepLR likewise
//   exponential  ExponentialLR with gamma^(1 / steps_per_unit)
//   cosine       CosineAnnealingLR with eta_min = lr * last, up to `over`. Then the rate stays at
//                eta_min, where PyTorch's rises again.
//   one-cycle    OneCycleLR with cosine annealing, two phases and final_div_factor = 1 / last. Then
//                the rate stays, where PyTorch fails. Only the learning rate changes: the momentum,
//                which PyTorch cycles unless it is told otherwise, stays as it is set.
double RateAt(const recipe::OptimizerSettings& settings, const recipe::Schedule& schedule,
              std::int64_t step, double steps_per_unit);

}  // namespace sluice::train
