#include "space/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace sluice {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double NormalDensity(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// log(x^a (1 - x)^b / B(a, b))
double LogBetaTerm(double x, double a, double b) {
  return a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) - std::lgamma(a) -
         std::lgamma(b);
}

// The continued fraction of the incomplete beta function, evaluated from the front by Lentz's
// method. It converges quickly for x below the mean of the law.
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 20'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return result;
}

// BetaQuantile for shares whose quantile x is at most 0.5. Takes Newton's steps, which are kept
// inside of a bracket that shrinks.
double LowerBetaQuantile(double share, double a, double b) {
  double low = 0;
  double high = 0.5;
  // Near 0, the share below x is x^a / (a B(a, b)).
  const double log_front = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b) + std::log(a);
  double x = std::exp((std::log(share) + log_front) / a);
  if (!(x > 0 && x < high)) x = high / 2;
  // The rounding error of BetaCdf.
  const double noise = 4e-16 * (1 + a + b) * share;
  for (int i = 0; i < 200; ++i) {
    const double error = BetaCdf(x, a, b) - share;
    (error > 0 ? high : low) = x;
    if (std::abs(error) <= noise) break;
    const double density = std::exp(LogBetaTerm(x, a, b)) / (x * (1 - x));
    double next = x - error / density;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (std::abs(next - x) <= 1e-16 * x) break;
    x = next;
  }
  return x;
}

}  // namespace

double NormalCdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

double NormalQuantile(double share) {
  if (share <= 0) return -kInfinity;
  if (share >= 1) return kInfinity;
  if (share > 0.5) return -NormalQuantile(1 - share);
  // The start is within 5e-4 of the result (Abramowitz and Stegun 26.2.23). Each of Halley's steps
  // then triples the number of correct digits.
  const double t = std::sqrt(-2 * std::log(share));
  double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i) {
    const double step = (NormalCdf(z) - share) / NormalDensity(z);
    if (!std::isfinite(step)) break;
    z -= step / (1 + z * step / 2);
  }
  return z;
}

double BetaCdf(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double term = std::exp(LogBetaTerm(x, a, b));
  if (x < (a + 1) / (a + b + 2)) return term * BetaFraction(x, a, b) / a;
  return 1 - term * BetaFraction(1 - x, b, a) / b;
}

double BetaQuantile(double share, double a, double b) {
  if (share <= 0) return 0;
  if (share >= 1) return 1;
  const double middle = BetaCdf(0.5, a, b);
  return share <= middle ? LowerBetaQuantile(share, a, b) : 1 - LowerBetaQuantile(1 - share, b, a);
}

}  // namespace sluice
