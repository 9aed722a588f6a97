#include "train/update/loops.h"

#include <array>
#include <cmath>

namespace sluice::train {
namespace {

template <typename Real>
struct SgdNumbers {
  Real clip, decay, momentum, kept, rate;
};

// The arrays of the loops below never overlap: __restrict lets the compiler use vectors.
template <bool kMoment, bool kNesterov, bool kFirst, typename Real>
void SgdElements(const SgdNumbers<Real>& by, std::int64_t count, Real* __restrict weight,
                 const Real* __restrict gradient, Real* __restrict moment) {
  for (std::int64_t i = 0; i < count; ++i) {
    Real step = gradient[i] * by.clip + by.decay * weight[i];
    if constexpr (kMoment) {
      const Real held = kFirst ? step : moment[i] * by.momentum + by.kept * step;
      moment[i] = held;
      step = kNesterov ? step + by.momentum * held : held;
    }
    weight[i] -= by.rate * step;
  }
}

template <typename Real>
struct AdamNumbers {
  Real clip, decay, shrink, kept1, rest1, beta2, kept2, rate, root, eps;
};

// PyTorch interpolates from the nearer end.
template <bool kFirst, bool kFromGradient, typename Real>
void AdamElements(const AdamNumbers<Real>& by, std::int64_t count, Real* __restrict weight,
                  const Real* __restrict gradient, Real* __restrict moment1,
                  Real* __restrict moment2) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Real shrunk = weight[i] * by.shrink;
    const Real step = gradient[i] * by.clip + by.decay * shrunk;
    const Real before1 = kFirst ? Real{0} : moment1[i];
    const Real before2 = kFirst ? Real{0} : moment2[i];
    const Real first =
        kFromGradient ? step - (step - before1) * by.rest1 : before1 + by.kept1 * (step - before1);
    const Real second = before2 * by.beta2 + by.kept2 * step * step;
    moment1[i] = first;
    moment2[i] = second;
    weight[i] = shrunk - by.rate * first / (std::sqrt(second) / by.root + by.eps);
  }
}

}  // namespace

template <typename Real>
void SgdLoop(const SgdStep& step, std::int64_t count, Real* weight, const Real* gradient,
             Real* moment) {
  const SgdNumbers<Real> by{.clip = static_cast<Real>(step.clip),
                            .decay = static_cast<Real>(step.decay),
                            .momentum = static_cast<Real>(step.momentum),
                            .kept = static_cast<Real>(step.kept),
                            .rate = static_cast<Real>(step.rate)};
  if (step.momentum == 0)
    return SgdElements<false, false, false>(by, count, weight, gradient, moment);
  if (step.nesterov)
    return step.first ? SgdElements<true, true, true>(by, count, weight, gradient, moment)
                      : SgdElements<true, true, false>(by, count, weight, gradient, moment);
  return step.first ? SgdElements<true, false, true>(by, count, weight, gradient, moment)
                    : SgdElements<true, false, false>(by, count, weight, gradient, moment);
}

template <typename Real>
void AdamLoop(const AdamStep& step, std::int64_t count, Real* weight, const Real* gradient,
              Real* moment1, Real* moment2) {
  const AdamNumbers<Real> by{.clip = static_cast<Real>(step.clip),
                             .decay = static_cast<Real>(step.decay),
                             .shrink = static_cast<Real>(step.shrink),
                             .kept1 = static_cast<Real>(step.kept1),
                             .rest1 = static_cast<Real>(1 - step.kept1),
                             .beta2 = static_cast<Real>(step.beta2),
                             .kept2 = static_cast<Real>(step.kept2),
                             .rate = static_cast<Real>(step.rate),
                             .root = static_cast<Real>(step.root),
                             .eps = static_cast<Real>(step.eps)};
  const auto run = [&](auto loop) { loop(by, count, weight, gradient, moment1, moment2); };
  if (step.kept1 < 0.5)
    return step.first ? run(AdamElements<true, false, Real>)
                      : run(AdamElements<false, false, Real>);
  return step.first ? run(AdamElements<true, true, Real>) : run(AdamElements<false, true, Real>);
}

template <typename Real>
double SumOfSquares(std::int64_t count, const Real* numbers) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double number = numbers[i + lane];
      sums[lane] += number * number;
    }
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) {
    const double number = numbers[i];
    sums[lane] += number * number;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template void SgdLoop(const SgdStep&, std::int64_t, float*, const float*, float*);
template void SgdLoop(const SgdStep&, std::int64_t, double*, const double*, double*);
template void AdamLoop(const AdamStep&, std::int64_t, float*, const float*, float*, float*);
template void AdamLoop(const AdamStep&, std::int64_t, double*, const double*, double*, double*);
template double SumOfSquares(std::int64_t, const float*);
template double SumOfSquares(std::int64_t, const double*);

}  // namespace sluice::train
