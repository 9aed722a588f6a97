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
  kLog,         // uniform in log(x)
  kInverseLog,  // low + high - x is uniform in its log: a log scale turned round, dense near `high`
  kNormal,      // mean `first`, standard deviation `second`, cut to the range
  kLogNormal,   // log(x) is normal: mean `first`, standard deviation `second`, cut to the range
  kBeta,        // (x - low) / (high - low) has the beta law of `first` and `second`
};

// One tunable quantity. Floats and integers have a range (both ends included) and a law, optionally
// in steps from `low`; categorical and ordinal ones have choices, an ordinal's being in order.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kFloat;
  double low = 0;
  double high = 0;
  Law law = Law::kUniform;
  double step = 0;  // 0: continuous (floats) or 1 (integers)
  std::vector<Choice> choices = {};
  double first = 0;  // of the law
  double second = 0;
  std::vector<double> weights = {};  // of choices, adding up to 1; empty: all alike
  std::string when = {};             // an expression; empty: always active

  bool has_choices() const {
    return kind == ParameterKind::kCategorical || kind == ParameterKind::kOrdinal;
  }
  // How many values it can take; nothing for a continuous one.
  std::optional<std::uint64_t> Cardinality() const;
};

// Whether one parameter makes sense by itself. The message begins with its name. What is wrong can
// be
// - an empty name, or text that is not UTF-8;
// - low >= high, or a bound that is not a finite number; integers: one that is not whole or not
//   below 2^53 in size (beyond, doubles and JSON no longer hold every integer);
// - a log scale with low <= 0, a lognormal with low < 0;
// - a sigma, an alpha or a beta that is not positive, or a normal that does not reach the range;
// - a step that is not positive or larger than the range, or more than 2^53 values;
// - no choices, two that read the same on a command line, or one that is not finite;
// - weights that are not one for each choice, negative, or do not add up to 1.
Status CheckParameter(const Parameter& parameter);

// What a user sees of one value: a bool, an integer, a number or a text.
using Value = Choice;

// As a command line shows it: shortest text that reads back to the same value; true/false for
// bools.
std::string FormatValue(const Value& value);

// The values of a discrete parameter by number, below its Cardinality. Steps of a float that is
// written in decimals are those decimals: 0, 0.1, 0.2, 0.3, not 0.30000000000000004.
double NthValue(const Parameter& parameter, std::uint64_t number);
// Whether a value lies in the range, on the step.
bool ContainsValue(const Parameter& parameter, double value);
// The number of the value nearest to this one.
std::uint64_t NumberOf(const Parameter& parameter, double value);
// Of a float or an integer: 1 for one that says nothing.
double StepOf(const Parameter& parameter);

}  // namespace sluice
