#include "train/update/numbers_of_step.h"

#include <cmath>

namespace sluice::train {

SgdStep SgdStepOf(const TrialUpdate& trial, bool nesterov, const Factors& factors, double clip) {
  const bool first = trial.step == 0;
  return {.clip = clip,
          .decay = trial.settings.weight_decay * factors.decay,
          .momentum = trial.settings.momentum,
          // The first step's moment is the gradient itself. Without momentum there is no dampening.
          .kept = first || trial.settings.momentum == 0 ? 1 : 1 - trial.settings.dampening,
          .rate = trial.lr * factors.lr,
          .nesterov = nesterov,
          .first = first};
}

AdamStep AdamStepOf(recipe::OptimizerKind kind, const TrialUpdate& trial, const Factors& factors,
                    double clip) {
  const recipe::OptimizerSettings& settings = trial.settings;
  const double rate = trial.lr * factors.lr;
  const double decay = settings.weight_decay * factors.decay;
  const bool decoupled = kind == recipe::OptimizerKind::kAdamW;
  const auto count = static_cast<double>(trial.step + 1);
  return {.clip = clip,
          .decay = decoupled ? 0 : decay,
          .shrink = decoupled ? 1 - rate * decay : 1,
          .kept1 = 1 - settings.beta1,
          .beta2 = settings.beta2,
          .kept2 = 1 - settings.beta2,
          .rate = rate / (1 - std::pow(settings.beta1, count)),
          .root = std::sqrt(1 - std::pow(settings.beta2, count)),
          .eps = settings.eps * factors.eps,
          .first = trial.step == 0};
}

double ClipFactor(double norm, double most) {
  const double factor = most / (norm + 1e-6);
  return factor > 1 ? 1 : factor;
}

}  // namespace sluice::train
