#include <algorithm>
#include <limits>
#include <vector>

#include "train/update/numbers_of_step.h"

namespace sluice::train {
namespace {

using recipe::OptimizerKind;

// Numbers of all trials, beside a tensor that has the trials in front.
class PerTrial {
 public:
  PerTrial(std::span<const TrialUpdate> trials, const at::Tensor& beside) : beside_(beside) {
    sizes_.assign(static_cast<std::size_t>(beside.dim()), 1);
    sizes_.front() = static_cast<std::int64_t>(trials.size());
  }
  at::Tensor Of(const std::vector<double>& numbers) const {
    return at::tensor(numbers, at::kDouble).to(beside_.options()).view(sizes_);
  }
  at::Tensor Beside(const at::Tensor& numbers) const {
    return numbers.to(beside_.scalar_type()).view(sizes_);
  }

 private:
  const at::Tensor& beside_;
  std::vector<std::int64_t> sizes_;
};

template <typename Step>
std::vector<double> Column(const std::vector<Step>& steps, double Step::* member) {
  std::vector<double> numbers;
  numbers.reserve(steps.size());
  for (const Step& each : steps) numbers.push_back(each.*member);
  return numbers;
}

bool AllAre(const std::vector<double>& numbers, double number) {
  return std::ranges::all_of(numbers, [&](double each) { return each == number; });
}

// What each trial's gradients are multiplied by, on their device. Undefined: no trial clips.
at::Tensor ClipFactors(std::span<const TrialUpdate> trials,
                       std::span<const TrainedTensor> tensors) {
  std::vector<double> most;
  for (const TrialUpdate& each : trials)
    most.push_back(each.settings.clip_norm.value_or(std::numeric_limits<double>::infinity()));
  if (AllAre(most, std::numeric_limits<double>::infinity())) return {};
  at::Tensor sum;
  for (const TrainedTensor& each : tensors) {
    if (!each.gradient.defined()) continue;
    const at::Tensor squares = each.gradient.reshape({each.gradient.size(0), -1})
                                   .to(at::kDouble)
                                   .square()
                                   .sum(at::IntArrayRef{1});
    sum = sum.defined() ? sum + squares : squares;
  }
  if (!sum.defined()) return {};
  const at::Tensor limits = at::tensor(most, at::kDouble).to(sum.device());
  const at::Tensor factors = (limits / (sum.sqrt() + 1e-6)).clamp_max(1);
  // Where nothing is clipped, an infinite norm would make it NaN.
  return at::where(limits.isinf(), 1.0, factors);
}

// The moments of trials that are at their first step count as 0.
void ForgetAtFirst(std::span<const TrialUpdate> trials, const TrainedTensor& tensor) {
  for (std::size_t place = 0; place < trials.size(); ++place) {
    if (trials[place].step != 0) continue;
    for (const at::Tensor& moment : {tensor.moment1, tensor.moment2})
      if (moment.defined()) moment.select(0, static_cast<std::int64_t>(place)).zero_();
  }
}

void SgdByOperators(std::span<const TrialUpdate> trials, bool nesterov, const TrainedTensor& tensor,
                    at::Tensor gradient) {
  std::vector<SgdStep> steps;
  for (const TrialUpdate& each : trials)
    steps.push_back(SgdStepOf(each, nesterov, tensor.factors, 1));
  const PerTrial per_trial(trials, tensor.weight);
  const std::vector<double> decay = Column(steps, &SgdStep::decay);
  if (!AllAre(decay, 0)) gradient = gradient + per_trial.Of(decay) * tensor.weight;
  const std::vector<double> momentum = Column(steps, &SgdStep::momentum);
  if (!AllAre(momentum, 0)) {
    const at::Tensor by = per_trial.Of(momentum);
    tensor.moment1.mul_(by).add_(per_trial.Of(Column(steps, &SgdStep::kept)) * gradient);
    gradient = nesterov ? gradient + by * tensor.moment1 : tensor.moment1;
  }
  tensor.weight.sub_(per_trial.Of(Column(steps, &SgdStep::rate)) * gradient);
}

void AdamByOperators(OptimizerKind kind, std::span<const TrialUpdate> trials,
                     const TrainedTensor& tensor, at::Tensor gradient) {
  std::vector<AdamStep> steps;
  for (const TrialUpdate& each : trials) steps.push_back(AdamStepOf(kind, each, tensor.factors, 1));
  const PerTrial per_trial(trials, tensor.weight);
  const std::vector<double> shrink = Column(steps, &AdamStep::shrink);
  if (!AllAre(shrink, 1)) tensor.weight.mul_(per_trial.Of(shrink));
  const std::vector<double> decay = Column(steps, &AdamStep::decay);
  if (!AllAre(decay, 0)) gradient = gradient + per_trial.Of(decay) * tensor.weight;
  const at::Tensor beta2 = per_trial.Of(Column(steps, &AdamStep::beta2));
  const at::Tensor kept2 = per_trial.Of(Column(steps, &AdamStep::kept2));
  tensor.moment1.lerp_(gradient, per_trial.Of(Column(steps, &AdamStep::kept1)));
  tensor.moment2.mul_(beta2).add_(kept2 * gradient * gradient);
  const at::Tensor divisor = tensor.moment2.sqrt()
                                 .div_(per_trial.Of(Column(steps, &AdamStep::root)))
                                 .add_(per_trial.Of(Column(steps, &AdamStep::eps)));
  const at::Tensor rate = per_trial.Of(Column(steps, &AdamStep::rate));
  tensor.weight.sub_((rate * tensor.moment1).div_(divisor));
}

}  // namespace

void UpdateByOperators(OptimizerKind kind, bool nesterov, std::span<const TrialUpdate> trials,
                       std::span<const TrainedTensor> tensors) {
  const at::NoGradGuard without_gradients;
  const at::Tensor clip = ClipFactors(trials, tensors);
  for (const TrainedTensor& each : tensors) {
    if (!each.gradient.defined()) continue;
    ForgetAtFirst(trials, each);
    at::Tensor gradient = each.gradient;
    if (clip.defined()) gradient = gradient * PerTrial(trials, each.weight).Beside(clip);
    if (kind == OptimizerKind::kSgd) {
      SgdByOperators(trials, nesterov, each, std::move(gradient));
    } else {
      AdamByOperators(kind, trials, each, std::move(gradient));
    }
  }
}

}  // namespace sluice::train
