#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sluice {

// A choice of a categorical or ordinal parameter, as the user wrote it.
using Choice = std::variant<bool, std::int64_t, double, std::string>;

enum class ParameterKind { kFloat, kInt, kCategorical, kOrdinal };

// How the values of a float or an integer are spread over its range.
enum class Law {
  kUniform,
  kLog,  // uniform in log(x)
  // log(low + high - x) is uniform: a reversed log scale, dense near `high`
  kInverseLog,
  kNormal,     // mean `first`, standard deviation `second`, cut to the range
  kLogNormal,  // log(x) is normal: mean `first`, standard deviation `second`, cut to the range
  kBeta,       // (x - low) / (high - low) has the beta law of `first` and `second`
};

// One tunable quantity. Floats and integers have a range (both ends included) and a law, and
// optionally steps from `low`. Categorical and ordinal parameters have choices. The choices of an
// ordinal parameter are in order.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kFloat;
  double low = 0;
  double high = 0;
  Law law = Law::kUniform;
  double step = 0;  // 0: continuous (floats) or steps of 1 (integers)
  std::vector<Choice> choices = {};
  double first = 0;  // the two numbers of the law
  double second = 0;
  std::vector<double> weights = {};  // of choices, adding up to 1; empty: all equally likely
  std::string when = {};             // an expression; empty: always active

  bool has_choices() const {
    return kind == ParameterKind::kCategorical || kind == ParameterKind::kOrdinal;
  }
  // How many values the parameter can take; nothing for a continuous parameter.
  std::optional<std::uint64_t> Cardinality() const;
};

// Checks that a parameter makes sense by itself. A message begins with the parameter's name. The
// check fails on
// - an empty name, or text that is not UTF-8;
// - low >= high, or a bound that is not a finite number; for integers also a bound that is not
//   whole or not below 2^53 in size (from there on, doubles and JSON do not hold every integer);
// - a log scale with low <= 0, a lognormal with low < 0;
// - a sigma that is not positive, an alpha or a beta that is not in (0, 1e6], or a (log)normal that
//   does not reach the range;
// - a step that is not positive or larger than the range, or more than 2^53 values;
// - no choices, two choices that read the same on a command line, or a number that is not finite;
// - weights that are negative or do not add up to 1, or whose number is not that of the choices.
Status CheckParameter(const Parameter& parameter);

// One value as a user sees it: a bool, an integer, a number or a text.
using Value = Choice;

// A value as a command line shows it: the shortest text that reads back to the same value; true or
// false for bools.
std::string FormatValue(const Value& value);

// The value with this number of a discrete parameter. Numbers begin at 0 and are below the
// parameter's Cardinality. If `low` and `step` of a float are short decimals, its values are short
// decimals too: 0, 0.1, 0.2, 0.3, not 0.30000000000000004.
double NthValue(const Parameter& parameter, std::uint64_t number);
// Whether a value lies in the range and on a step.
bool ContainsValue(const Parameter& parameter, double value);
// The number of the parameter's value that is nearest to `value`.
std::uint64_t NumberOf(const Parameter& parameter, double value);
// The step of a float or an integer. Without a step: 1 for an integer, 0 for a float.
double StepOf(const Parameter& parameter);

}  // namespace sluice
