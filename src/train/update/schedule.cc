#include "train/update/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace sluice::train {
namespace {

// More steps than any training takes. Far longer lengths would not fit a step's type.
constexpr double kMostSteps = 1e15;

std::int64_t WholeSteps(double length, double steps_per_unit) {
  return std::llround(std::clamp(length * steps_per_unit, 0.0, kMostSteps));
}

std::int64_t AtLeastOneStep(double length, double steps_per_unit) {
  return std::max<std::int64_t>(1, WholeSteps(length, steps_per_unit));
}

// Half a wave from one rate to another. `part` is from 0 to 1.
double Annealed(double from, double to, double part) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
}

double OneCycleRate(double lr, const recipe::Schedule& schedule, std::int64_t step,
                    std::int64_t total) {
  const double first = lr / schedule.div;
  const double final = first * schedule.last;
  const double end = static_cast<double>(total) - 1;
  // PyTorch's: the peak is at no whole step, unless this is one.
  const double peak = schedule.rise * static_cast<double>(total) - 1;
  const double at = std::min(static_cast<double>(step), end);
  if (at <= peak) return peak > 0 ? Annealed(first, lr, at / peak) : lr;
  return Annealed(lr, final, (at - peak) / (end - peak));
}

}  // namespace

double RateAt(const recipe::OptimizerSettings& settings, const recipe::Schedule& schedule,
              std::int64_t step, double steps_per_unit) {
  using Kind = recipe::Schedule::Kind;
  SLUICE_CHECK(step >= 0 && steps_per_unit > 0, "updates count from 0, and work takes some");
  const double lr = settings.lr;
  const std::int64_t warmup = WholeSteps(schedule.warmup, steps_per_unit);
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  step -= warmup;
  switch (schedule.kind) {
    case Kind::kConstant: return lr;
    case Kind::kStep: {
      const std::int64_t falls = step / AtLeastOneStep(schedule.every, steps_per_unit);
      return lr * std::pow(schedule.gamma, static_cast<double>(falls));
    }
    case Kind::kMultiStep: {
      const auto falls = std::ranges::count_if(
          schedule.at, [&](double at) { return AtLeastOneStep(at, steps_per_unit) <= step; });
      return lr * std::pow(schedule.gamma, static_cast<double>(falls));
    }
    case Kind::kExponential:
      return lr * std::pow(schedule.gamma, static_cast<double>(step) / steps_per_unit);
    case Kind::kCosine: {
      const std::int64_t over = AtLeastOneStep(schedule.over, steps_per_unit);
      const double part = static_cast<double>(std::min(step, over)) / static_cast<double>(over);
      return Annealed(lr, lr * schedule.last, part);
    }
    case Kind::kOneCycle:
      return OneCycleRate(lr, schedule, step, AtLeastOneStep(schedule.over, steps_per_unit));
  }
  return lr;
}

}  // namespace sluice::train
