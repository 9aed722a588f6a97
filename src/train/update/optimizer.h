#pragma once

#include <cstdint>
#include <span>

#include "model/shrink/parametrisation.h"
#include "recipe/trial_recipe.h"
#include "train/torch.h"

namespace sluice::train {

// What multiplies a trial's settings for one tensor, by its parametrisation.
struct Factors {
  double lr = 1;
  double decay = 1;
  double eps = 1;
};
// Weight decay that is added to the gradient has one factor, whether SGD or Adam adds it: that by
// which the gradients of the narrower network grow, compared with the weights.
Factors FactorsOf(recipe::OptimizerKind kind, const model::ParameterPlan& plan);

// A parameter of all trials, each tensor [trials, sizes...]. Weight, gradient and moments are of
// one type, float32 or float64; weight and moments are contiguous. SGD has one moment (the momentum
// buffer), Adam and AdamW two.
struct TrainedTensor {
  at::Tensor weight;
  at::Tensor gradient;  // undefined: the parameter is left as it is. It is never written.
  at::Tensor moment1;
  at::Tensor moment2;
  Factors factors;
};
int MomentsOf(recipe::OptimizerKind kind);

// What differs between the trials of a bundle. Kind and form of the optimizer do not.
struct TrialUpdate {
  recipe::OptimizerSettings settings;
  double lr = 0;  // of this update (RateAt): it stands for that of the settings
  // Updates the trial has had: at 0 its moments are not read, whatever they hold. A parameter has a
  // gradient in all of a trial's updates, or in none.
  std::int64_t step = 0;
};

// Takes one step of each trial, in place and without gradients: as torch.nn.utils.clip_grad_norm_
// and then torch.optim.SGD, Adam or AdamW would for each trial alone (foreach=False). The norm is
// that of all gradients of the trial, computed in float64.
//
// A trial's result has the same bits whatever other trials there are. On the CPU that holds on
// every machine; elsewhere the norms are only as exact as the device computes them.
void Update(recipe::OptimizerKind kind, bool nesterov, std::span<const TrialUpdate> trials,
            std::span<const TrainedTensor> tensors);

// The same by PyTorch's operators, on any device. It reads and writes each tensor several times.
// Update uses it for tensors that are not on the CPU.
void UpdateByOperators(recipe::OptimizerKind kind, bool nesterov,
                       std::span<const TrialUpdate> trials, std::span<const TrainedTensor> tensors);

}  // namespace sluice::train
