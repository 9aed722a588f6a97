#include "train/update/optimizer.h"

#include <cmath>
#include <vector>

#include "base/check.h"
#include "train/update/numbers_of_step.h"

namespace sluice::train {
namespace {

using recipe::OptimizerKind;

void CheckHeld(const at::Tensor& held, const TrainedTensor& of, std::int64_t trials,
               bool is_moment) {
  SLUICE_CHECK(held.defined() || is_moment, "a trained parameter has weights");
  if (!held.defined()) return;
  SLUICE_CHECK(held.is_contiguous() && held.size(0) == trials && held.sizes() == of.weight.sizes(),
               "weights and moments have the trials in front, without gaps");
  SLUICE_CHECK(
      held.scalar_type() == of.gradient.scalar_type() && held.device() == of.gradient.device(),
      "weights, moments and gradients are of one type on one device");
}

void CheckTensors(OptimizerKind kind, std::span<const TrialUpdate> trials,
                  std::span<const TrainedTensor> tensors) {
  const auto count = static_cast<std::int64_t>(trials.size());
  bool moments = kind != OptimizerKind::kSgd;
  for (const TrialUpdate& trial : trials) {
    SLUICE_CHECK(trial.step >= 0, "updates count from 0");
    moments = moments || trial.settings.momentum != 0;
  }
  for (const TrainedTensor& each : tensors) {
    if (!each.gradient.defined()) continue;
    CheckHeld(each.weight, each, count, false);
    SLUICE_CHECK(each.gradient.sizes() == each.weight.sizes(), "gradients are like the weights");
    CheckHeld(each.moment1, each, count, true);
    CheckHeld(each.moment2, each, count, true);
    SLUICE_CHECK((each.moment1.defined() || !moments) &&
                     (each.moment2.defined() || kind == OptimizerKind::kSgd),
                 "an optimizer that needs moments has them");
  }
}

// A tensor with its gradient without gaps.
struct Rows {
  const TrainedTensor* tensor;
  at::Tensor gradient;
  std::int64_t count;  // of elements of a trial
};

template <typename Real>
Real* PartOf(const at::Tensor& tensor, std::size_t trial, std::int64_t count) {
  if (!tensor.defined()) return nullptr;
  return static_cast<Real*>(tensor.data_ptr()) + static_cast<std::int64_t>(trial) * count;
}

double ClipOf(const TrialUpdate& trial, std::size_t place, std::span<const Rows> rows) {
  if (!trial.settings.clip_norm) return 1;
  double sum = 0;
  for (const Rows& each : rows) {
    sum += each.gradient.scalar_type() == at::kFloat
               ? SumOfSquares(each.count, PartOf<const float>(each.gradient, place, each.count))
               : SumOfSquares(each.count, PartOf<const double>(each.gradient, place, each.count));
  }
  return ClipFactor(std::sqrt(sum), *trial.settings.clip_norm);
}

// What Update was called with, for all trials.
struct Form {
  OptimizerKind kind;
  bool nesterov;
};

template <typename Real>
void UpdateRow(const Form& form, const TrialUpdate& trial, std::size_t place, const Rows& rows,
               double clip) {
  const TrainedTensor& tensor = *rows.tensor;
  Real* weight = PartOf<Real>(tensor.weight, place, rows.count);
  const Real* gradient = PartOf<const Real>(rows.gradient, place, rows.count);
  Real* moment1 = PartOf<Real>(tensor.moment1, place, rows.count);
  if (form.kind == OptimizerKind::kSgd) {
    const SgdStep step = SgdStepOf(trial, form.nesterov, tensor.factors, clip);
    return SgdLoop(step, rows.count, weight, gradient, moment1);
  }
  Real* moment2 = PartOf<Real>(tensor.moment2, place, rows.count);
  const AdamStep step = AdamStepOf(form.kind, trial, tensor.factors, clip);
  AdamLoop(step, rows.count, weight, gradient, moment1, moment2);
}

}  // namespace

Factors FactorsOf(OptimizerKind kind, const model::ParameterPlan& plan) {
  switch (kind) {
    case OptimizerKind::kSgd: return {.lr = plan.sgd_lr, .decay = plan.sgd_decay};
    case OptimizerKind::kAdam:
      return {.lr = plan.adam_lr, .decay = plan.sgd_decay, .eps = plan.adam_eps};
    case OptimizerKind::kAdamW:
      return {.lr = plan.adam_lr, .decay = plan.adamw_decay, .eps = plan.adam_eps};
  }
  return {};
}

int MomentsOf(OptimizerKind kind) { return kind == OptimizerKind::kSgd ? 1 : 2; }

void Update(OptimizerKind kind, bool nesterov, std::span<const TrialUpdate> trials,
            std::span<const TrainedTensor> tensors) {
  CheckTensors(kind, trials, tensors);
  std::vector<Rows> rows;
  rows.reserve(tensors.size());
  for (const TrainedTensor& each : tensors) {
    if (!each.gradient.defined()) continue;
    if (!each.weight.is_cpu()) return UpdateByOperators(kind, nesterov, trials, tensors);
    rows.push_back({.tensor = &each,
                    .gradient = each.gradient.contiguous(),
                    .count = each.weight.numel() / static_cast<std::int64_t>(trials.size())});
  }
  for (const Rows& each : rows) {
    const at::ScalarType type = each.gradient.scalar_type();
    SLUICE_CHECK(type == at::kFloat || type == at::kDouble, "weights are float32 or float64");
  }
  const Form form{.kind = kind, .nesterov = nesterov};
  for (std::size_t place = 0; place < trials.size(); ++place) {
    const double clip = ClipOf(trials[place], place, rows);
    for (const Rows& each : rows) {
      if (each.gradient.scalar_type() == at::kFloat) {
        UpdateRow<float>(form, trials[place], place, each, clip);
      } else {
        UpdateRow<double>(form, trials[place], place, each, clip);
      }
    }
  }
  // Autograd then notices if it still needs the weights of before.
  for (const Rows& each : rows) each.tensor->weight.unsafeGetTensorImpl()->bump_version();
}

}  // namespace sluice::train
