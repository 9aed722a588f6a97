#include "space/law.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "space/special.h"

namespace sluice {
namespace {

constexpr double kBelowOne = 0x1.fffffffffffffp-1;  // the largest number below 1

struct Interval {
  double low;
  double high;
};

// An integer on a log scale has a cell of half a unit on both sides, at the ends of the range too.
// So the ends are as likely as their neighbours.
Interval LogRange(const Parameter& parameter) {
  const double margin = parameter.kind == ParameterKind::kInt ? 0.5 : 0;
  return {std::log(parameter.low - margin), std::log(parameter.high + margin)};
}

// The outer edges of the first and the last cell. On a log scale the lower edge stays above 0.
Interval OuterEdges(const Parameter& parameter) {
  const double low = parameter.low;
  const double high = parameter.high;
  if (!parameter.Cardinality()) return {low, high};
  const double last = NthValue(parameter, *parameter.Cardinality() - 1);
  const double half = StepOf(parameter) / 2;
  Interval edges{low - half, last + half};
  if (parameter.law == Law::kLog) edges.low = std::max(edges.low, low / 2);
  if (parameter.law == Law::kInverseLog) edges.high = std::min(edges.high, high + low / 2);
  return edges;
}

// The value on the scale on which its law is the standard normal law.
double Standard(const Parameter& parameter, double x) {
  const double at = parameter.law == Law::kLogNormal ? std::log(std::max(x, 0.0)) : x;
  return (at - parameter.first) / parameter.second;
}

// A normal law cut to an interval. Shares are counted from the end that is farther from the mean,
// where they are small and therefore exact.
class CutNormal {
 public:
  CutNormal(double low, double high) : turned_(low + high > 0), from_(At(low)), to_(At(high)) {}

  double mass() const { return std::abs(to_ - from_); }
  double Share(double z) const { return (At(z) - from_) / (to_ - from_); }
  double Quantile(double share) const {
    const double z = NormalQuantile(from_ + share * (to_ - from_));
    return turned_ ? -z : z;
  }

 private:
  double At(double z) const { return NormalCdf(turned_ ? -z : z); }

  bool turned_;
  double from_;
  double to_;
};

CutNormal NormalOf(const Parameter& parameter) {
  const auto [low, high] = OuterEdges(parameter);
  return {Standard(parameter, low), Standard(parameter, high)};
}

// The share of the law below x, between the outer edges.
double Share(const Parameter& parameter, double x) {
  const auto [low, high] = OuterEdges(parameter);
  const double turn = parameter.low + parameter.high;
  switch (parameter.law) {
    case Law::kUniform: return (x - low) / (high - low);
    case Law::kLog: return std::log(x / low) / std::log(high / low);
    case Law::kInverseLog:
      return std::log((turn - low) / (turn - x)) / std::log((turn - low) / (turn - high));
    case Law::kNormal:
    case Law::kLogNormal: return NormalOf(parameter).Share(Standard(parameter, x));
    case Law::kBeta:
      return BetaCdf((x - parameter.low) / (parameter.high - parameter.low), parameter.first,
                     parameter.second);
  }
  SLUICE_CHECK(false, "a parameter has a law");
}

double Quantile(const Parameter& parameter, double share) {
  const auto [low, high] = OuterEdges(parameter);
  const double turn = parameter.low + parameter.high;
  switch (parameter.law) {
    case Law::kUniform: return low + share * (high - low);
    case Law::kLog: return low * std::exp(share * std::log(high / low));
    case Law::kInverseLog:
      return turn - (turn - low) * std::exp(-share * std::log((turn - low) / (turn - high)));
    case Law::kNormal:
      return parameter.first + parameter.second * NormalOf(parameter).Quantile(share);
    case Law::kLogNormal:
      return std::exp(parameter.first + parameter.second * NormalOf(parameter).Quantile(share));
    case Law::kBeta:
      return parameter.low + (parameter.high - parameter.low) *
                                 BetaQuantile(share, parameter.first, parameter.second);
  }
  SLUICE_CHECK(false, "a parameter has a law");
}

// The cell of a discrete value, by its number.
Interval CellOf(const Parameter& parameter, std::uint64_t number) {
  const auto edge = [&](std::uint64_t below) {
    const double x = (NthValue(parameter, below) + NthValue(parameter, below + 1)) / 2;
    return std::clamp(Share(parameter, x), 0.0, 1.0);
  };
  return {number == 0 ? 0 : edge(number - 1),
          number + 1 == *parameter.Cardinality() ? 1 : edge(number)};
}

double DiscreteFromUnit(const Parameter& parameter, double unit) {
  std::uint64_t number = NumberOf(parameter, Quantile(parameter, unit));
  // Rounding may have led to a neighbouring cell. Rounding leads farther only where cells are
  // narrower than the rounding error. There any of these cells is good enough.
  constexpr int kMostMoves = 8;
  for (int i = 0; i < kMostMoves && unit < CellOf(parameter, number).low; ++i) --number;
  for (int i = 0; i < kMostMoves && unit >= CellOf(parameter, number).high; ++i) ++number;
  return NthValue(parameter, number);
}

double WeightedFromUnit(const Parameter& parameter, double unit) {
  double below = 0;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < parameter.weights.size(); ++i) {
    if (parameter.weights[i] == 0) continue;
    chosen = i;
    below += parameter.weights[i];
    if (unit < below) break;
  }
  return static_cast<double>(chosen);
}

double WeightedToUnit(const Parameter& parameter, double value) {
  const auto chosen = static_cast<std::size_t>(value);
  double below = 0;
  for (std::size_t i = 0; i < chosen; ++i) below += parameter.weights[i];
  return below + parameter.weights[chosen] / 2;
}

// Whether a parameter has a log scale and is continuous or an integer with step 1. The arithmetic
// of such scales is older than that of the other laws. It must not change, because stored studies
// continue with it.
bool IsPlainLog(const Parameter& parameter) {
  return parameter.law == Law::kLog &&
         (!parameter.Cardinality() ||
          (parameter.kind == ParameterKind::kInt && StepOf(parameter) == 1));
}

bool IsPlainUniform(const Parameter& parameter) {
  return parameter.has_choices() ? parameter.weights.empty() : parameter.law == Law::kUniform;
}

}  // namespace

double FromUnit(const Parameter& parameter, double unit) {
  SLUICE_CHECK(!std::isnan(unit), "a coordinate is a number");
  unit = std::clamp(unit, 0.0, kBelowOne);
  const std::optional<std::uint64_t> count = parameter.Cardinality();
  if (IsPlainUniform(parameter)) {
    if (!count)
      return std::min(parameter.low + unit * (parameter.high - parameter.low), parameter.high);
    const auto number = static_cast<std::uint64_t>(unit * static_cast<double>(*count));
    return NthValue(parameter, std::min(number, *count - 1));
  }
  if (parameter.has_choices()) return WeightedFromUnit(parameter, unit);
  if (IsPlainLog(parameter)) {
    const auto [low, high] = LogRange(parameter);
    const double value = std::exp(low + unit * (high - low));
    return std::clamp(parameter.kind == ParameterKind::kInt ? std::round(value) : value,
                      parameter.low, parameter.high);
  }
  if (count) return DiscreteFromUnit(parameter, unit);
  return std::clamp(Quantile(parameter, unit), parameter.low, parameter.high);
}

double ToUnit(const Parameter& parameter, double value) {
  double unit;
  const std::optional<std::uint64_t> count = parameter.Cardinality();
  if (IsPlainUniform(parameter)) {
    unit = count ? (static_cast<double>(NumberOf(parameter, value)) + 0.5) /
                       static_cast<double>(*count)
                 : (value - parameter.low) / (parameter.high - parameter.low);
  } else if (parameter.has_choices()) {
    unit = WeightedToUnit(parameter, value);
  } else if (IsPlainLog(parameter)) {
    const auto [low, high] = LogRange(parameter);
    const double at = parameter.kind == ParameterKind::kInt
                          ? (std::log(value - 0.5) + std::log(value + 0.5)) / 2
                          : std::log(value);
    unit = (at - low) / (high - low);
  } else if (count) {
    const auto [low, high] = CellOf(parameter, NumberOf(parameter, value));
    unit = low + (high - low) / 2;
  } else {
    unit = Share(parameter, value);
  }
  return std::clamp(unit, 0.0, kBelowOne);
}

double LawMass(const Parameter& parameter) { return NormalOf(parameter).mass(); }

}  // namespace sluice
