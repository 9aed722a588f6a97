#include "ledger/optuna/optuna_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace sluice {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string_view Name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kFloat: return "float";
    case ParameterKind::kInt: return "int";
    case ParameterKind::kCategorical: return "categorical";
    case ParameterKind::kOrdinal: return "ordinal";
  }
  return "";
}

std::string Describe(const Parameter& parameter) {
  if (!parameter.has_choices()) {
    return fmt::format("{}{}", parameter.law == Law::kLog ? "log " : "", Name(parameter.kind));
  }
  constexpr std::size_t kShown = 8;
  std::string text = "choices";
  for (std::size_t i = 0; i < std::min(parameter.choices.size(), kShown); ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", FormatValue(parameter.choices[i]));
  return text + (parameter.choices.size() > kShown ? ", ..." : "");
}

bool IsOnSteps(double distance, double step) {
  const double steps = distance / step;
  return std::abs(steps - std::round(steps)) < 1e-8;
}

// A step that reaches every value that `step` reaches, and also the value at this distance. 0 (no
// step) if only a continuous float or a step of 1 reaches all of them.
double CommonStep(const Parameter& parameter, double step, double distance) {
  if (parameter.kind == ParameterKind::kFloat) return IsOnSteps(distance, step) ? step : 0;
  const auto common =
      std::gcd(static_cast<std::int64_t>(step), static_cast<std::int64_t>(distance));
  return common == 1 ? 0 : static_cast<double>(common);
}

void WidenNumeric(Parameter& parameter, const Parameter& other) {
  const double distance = std::abs(parameter.low - other.low);
  const bool is_int = parameter.kind == ParameterKind::kInt;
  if (is_int && parameter.step != 0) {
    const double step = CommonStep(parameter, parameter.step, other.step == 0 ? 1 : other.step);
    parameter.step = step == 0 ? 0 : CommonStep(parameter, step, distance);
  } else if (!is_int && parameter.step != 0) {
    parameter.step =
        parameter.step == other.step ? CommonStep(parameter, parameter.step, distance) : 0;
  }
  parameter.low = std::min(parameter.low, other.low);
  parameter.high = std::max(parameter.high, other.high);
}

std::optional<double> AsNumber(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

// 1 and 1.0 are one value.
bool SameValue(const Value& a, const Value& b) {
  const auto left = AsNumber(a);
  const auto right = AsNumber(b);
  return left && right ? *left == *right : a == b;
}

}  // namespace

Status Widen(Parameter& parameter, const Parameter& other) {
  const bool same = parameter.kind == other.kind && parameter.law == other.law &&
                    parameter.choices == other.choices;
  if (!same) {
    return InvalidArgument(
        fmt::format("{}: expected one distribution in all trials, found {} and {}, which cannot be "
                    "joined",
                    parameter.name, Describe(parameter), Describe(other)));
  }
  if (!parameter.has_choices()) WidenNumeric(parameter, other);
  return {};
}

void Widen(Parameter& parameter, double value) {
  if (parameter.has_choices()) return;
  const bool inside = parameter.low <= value && value <= parameter.high;
  if (inside && (parameter.step == 0 || IsOnSteps(value - parameter.low, parameter.step))) return;
  if (parameter.law == Law::kLog && value <= 0) parameter.law = Law::kUniform;
  Parameter point = parameter;
  point.low = point.high = value;
  WidenNumeric(parameter, point);
}

Parameter AsInSpace(Parameter parameter) {
  if (parameter.has_choices() || parameter.low < parameter.high) {
    // Only damaged files have a step wider than the range.
    if (parameter.step > parameter.high - parameter.low) parameter.step = 0;
    return parameter;
  }
  Parameter fixed;
  fixed.name = parameter.name;
  fixed.kind = ParameterKind::kCategorical;
  if (parameter.kind == ParameterKind::kInt) {
    fixed.choices.emplace_back(static_cast<std::int64_t>(parameter.low));
  } else {
    fixed.choices.emplace_back(parameter.low);
  }
  return fixed;
}

double NumberOf(const Space& space, std::size_t index, const Value& value) {
  const Parameter& parameter = space.parameters()[index];
  if (parameter.has_choices()) {
    for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
      if (SameValue(parameter.choices[i], value)) return static_cast<double>(i);
    }
    return kNone;
  }
  const auto number = AsNumber(value);
  if (!number || !std::isfinite(*number)) return kNone;
  const auto count = parameter.Cardinality();
  if (!count) return parameter.low <= *number && *number <= parameter.high ? *number : kNone;
  const double step = parameter.step == 0 ? 1 : parameter.step;
  const double nth = std::round((*number - parameter.low) / step);
  if (!(nth >= 0 && nth < static_cast<double>(*count))) return kNone;
  const double on_step = space.Nth(index, static_cast<std::uint64_t>(nth));
  const double slack = parameter.kind == ParameterKind::kInt ? 0 : 2e-8 * step;
  return std::abs(on_step - *number) <= slack ? on_step : kNone;
}

Point PartialPoint(const Space& space, const std::map<std::string, Value>& values) {
  Point point(space.size(), kNone);
  for (std::size_t i = 0; i < space.size(); ++i) {
    const auto value = values.find(space.parameters()[i].name);
    if (value != values.end()) point[i] = NumberOf(space, i, value->second);
  }
  return point;
}

}  // namespace sluice
