#include "space/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "space/law.h"
#include "space/point_codec.h"

namespace sluice {
namespace {

constexpr double kExact = 0x1.0p53;  // below it, a double holds every integer

bool IsWhole(double value) { return value == std::floor(value) && std::abs(value) < kExact; }

// The largest k with low + k * step <= high, tolerating rounding errors of the quotient.
double LastStep(double low, double high, double step) {
  const double quotient = (high - low) / step;
  return std::floor(quotient + std::max(1e-9, quotient * 1e-15));
}

// low + k * step, computed in decimals if low and step have so few that the result is exact.
double FloatStep(const Parameter& parameter, double k) {
  double scale = 1;
  for (int decimals = 0; decimals <= 15; ++decimals, scale *= 10) {
    const double low = std::round(parameter.low * scale);
    const double step = std::round(parameter.step * scale);
    if (low / scale != parameter.low || step / scale != parameter.step) continue;
    if (std::abs(low) >= kExact || k * step >= kExact || std::abs(low + k * step) >= kExact) break;
    return std::min((low + k * step) / scale, parameter.high);
  }
  return std::min(parameter.low + k * parameter.step, parameter.high);
}

std::unexpected<Error> Bad(const Parameter& parameter, std::string_view what) {
  return InvalidArgument(fmt::format("{}: {}", parameter.name, what));
}

Status CheckChoices(const Parameter& parameter) {
  if (parameter.choices.empty()) return Bad(parameter, "expected at least one choice, found none");
  std::set<std::string> seen;
  for (const Choice& choice : parameter.choices) {
    const std::string text = FormatValue(choice);
    if (const double* number = std::get_if<double>(&choice); number && !std::isfinite(*number)) {
      return Bad(parameter, fmt::format("expected finite choices, found {}: write it as a text in "
                                        "quotes and convert it in the program",
                                        text));
    }
    if (!JsonCanHold(text)) return Bad(parameter, "expected choices in UTF-8, found other bytes");
    if (!seen.insert(text).second) {
      return Bad(parameter, fmt::format("expected different choices, found '{}' twice", text));
    }
  }
  return {};
}

Status CheckBounds(const Parameter& parameter) {
  const double low = parameter.low;
  const double high = parameter.high;
  const std::string found = fmt::format("found [{}, {}]", low, high);
  if (!std::isfinite(low) || !std::isfinite(high) || !std::isfinite(high - low)) {
    return Bad(parameter, fmt::format("expected a finite range, {}", found));
  }
  if (low >= high) return Bad(parameter, fmt::format("expected low < high, {}", found));
  if (parameter.kind == ParameterKind::kInt && (!IsWhole(low) || !IsWhole(high))) {
    return Bad(parameter, fmt::format("expected whole numbers between -2^53 and 2^53, {}", found));
  }
  const bool log = parameter.law == Law::kLog || parameter.law == Law::kInverseLog;
  if (log && low <= 0) {
    return Bad(parameter, fmt::format("expected low > 0 on a log scale, {}", found));
  }
  if (parameter.law == Law::kLogNormal && low < 0) {
    return Bad(parameter, fmt::format("expected low >= 0 for a lognormal, {}", found));
  }
  return {};
}

Status CheckLaw(const Parameter& parameter) {
  constexpr double kLargestShape = 1e6;
  constexpr double kLeastMass = 1e-300;
  const double first = parameter.first;
  const double second = parameter.second;
  if (parameter.law == Law::kBeta) {
    for (const auto& [name, shape] : {std::pair("alpha", first), std::pair("beta", second)}) {
      if (shape > 0 && shape <= kLargestShape) continue;
      return Bad(parameter, fmt::format("expected {} above 0 and at most {}, found {}", name,
                                        kLargestShape, shape));
    }
  }
  if (parameter.law != Law::kNormal && parameter.law != Law::kLogNormal) return {};
  if (!std::isfinite(first))
    return Bad(parameter, fmt::format("expected a finite mean, found {}", first));
  if (!(second > 0) || !std::isfinite(second))
    return Bad(parameter, fmt::format("expected sigma > 0, found {}", second));
  if (!(LawMass(parameter) > kLeastMass)) {
    return Bad(parameter, fmt::format("expected a range that its law reaches, found [{}, {}] with "
                                      "mean {} and sigma {}: all of it is too far from the mean",
                                      parameter.low, parameter.high, first, second));
  }
  return {};
}

Status CheckWeights(const Parameter& parameter) {
  const std::vector<double>& weights = parameter.weights;
  if (weights.empty()) return {};
  if (weights.size() != parameter.choices.size()) {
    return Bad(parameter, fmt::format("expected a weight for each of its {} choices, found {}",
                                      parameter.choices.size(), weights.size()));
  }
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight))
      return Bad(parameter, fmt::format("expected weights of at least 0, found {}", weight));
    sum += weight;
  }
  if (std::abs(sum - 1) > 1e-6)
    return Bad(parameter, fmt::format("expected weights that add up to 1, found {}", sum));
  return {};
}

Status CheckStep(const Parameter& parameter) {
  const double step = parameter.step;
  const double range = parameter.high - parameter.low;
  const bool is_int = parameter.kind == ParameterKind::kInt;
  if (step == 0) {
    if (is_int && range >= kExact)
      return Bad(parameter, "expected at most 2^53 values: set a step");
    return {};
  }
  const std::string found = fmt::format("found {}", step);
  if (!(step > 0) || !std::isfinite(step)) {
    return Bad(parameter, fmt::format("expected a step > 0, {}", found));
  }
  if (is_int && !IsWhole(step)) {
    return Bad(parameter, fmt::format("expected a whole number as the step, {}", found));
  }
  if (step > range * (1 + 1e-12)) {
    return Bad(parameter,
               fmt::format("expected a step of at most high - low = {}, {}", range, found));
  }
  if (range / step >= kExact) {
    return Bad(parameter, fmt::format("expected at most 2^53 values, {} as the step", found));
  }
  return {};
}

}  // namespace

double StepOf(const Parameter& parameter) {
  return parameter.kind == ParameterKind::kInt && parameter.step == 0 ? 1 : parameter.step;
}

std::optional<std::uint64_t> Parameter::Cardinality() const {
  if (has_choices()) return choices.size();
  if (kind == ParameterKind::kInt) {
    const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) -
                                                  static_cast<std::int64_t>(low));
    return range / static_cast<std::uint64_t>(StepOf(*this)) + 1;
  }
  if (step == 0) return std::nullopt;
  return static_cast<std::uint64_t>(LastStep(low, high, step)) + 1;
}

Status CheckParameter(const Parameter& parameter) {
  if (parameter.name.empty())
    return InvalidArgument("expected a parameter's name, found an empty one");
  if (!JsonCanHold(parameter.name)) {
    return InvalidArgument("expected a parameter's name in UTF-8, found other bytes");
  }
  if (parameter.has_choices()) {
    SLUICE_TRY(CheckChoices(parameter));
    return CheckWeights(parameter);
  }
  SLUICE_TRY(CheckBounds(parameter));
  SLUICE_TRY(CheckStep(parameter));
  return CheckLaw(parameter);
}

double NthValue(const Parameter& parameter, std::uint64_t number) {
  switch (parameter.kind) {
    case ParameterKind::kCategorical:
    case ParameterKind::kOrdinal: return static_cast<double>(number);
    case ParameterKind::kInt:
      return static_cast<double>(static_cast<std::int64_t>(parameter.low) +
                                 static_cast<std::int64_t>(number) *
                                     static_cast<std::int64_t>(StepOf(parameter)));
    case ParameterKind::kFloat: return FloatStep(parameter, static_cast<double>(number));
  }
  SLUICE_CHECK(false, "a parameter has a kind");
}

std::uint64_t NumberOf(const Parameter& parameter, double value) {
  const auto last = static_cast<double>(*parameter.Cardinality() - 1);
  const double low = parameter.has_choices() ? 0 : parameter.low;
  const double step = parameter.has_choices() ? 1 : StepOf(parameter);
  return static_cast<std::uint64_t>(std::clamp(std::round((value - low) / step), 0.0, last));
}

bool ContainsValue(const Parameter& parameter, double value) {
  if (std::isnan(value)) return false;
  if (!parameter.Cardinality()) return parameter.low <= value && value <= parameter.high;
  return NthValue(parameter, NumberOf(parameter, value)) == value;
}

std::string FormatValue(const Value& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

}  // namespace sluice
