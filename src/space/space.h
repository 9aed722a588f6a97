#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace sluice {

// A choice of a categorical or ordinal parameter, as the user wrote it.
using Choice = std::variant<bool, std::int64_t, double, std::string>;

enum class ParameterKind { kFloat, kInt, kCategorical, kOrdinal };

// How the values of a float or an integer are spread over its range.
enum class Law {
  kUniform,
  kLog,         // uniform in log(x)
  kInverseLog,  // uniform in log(1 / x) from the other end: dense near `high`
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
// - log with low <= 0, or with a step (a log integer may say 1);
// - a step that is not positive or larger than the range, or more than 2^53 values;
// - no choices, two that read the same on a command line, or one that is not finite.
Status CheckParameter(const Parameter& parameter);

// A value for each parameter of a space, in its order: the number itself for floats and integers,
// the index of the choice for the others, NaN for a parameter that is not active.
using Point = std::vector<double>;

// What a user sees of one value: a bool, an integer, a number or a text.
using Value = Choice;

// Everything that can be tuned in a study. Immutable once made.
class Space {
 public:
  Space() = default;
  // Fails, naming the parameter, on the first one that CheckParameter refuses, and on a repeated
  // name.
  static Result<Space> Make(std::vector<Parameter> parameters,
                            std::vector<std::string> constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<std::string>& constraints() const { return constraints_; }
  std::size_t size() const { return parameters_.size(); }
  std::optional<std::size_t> Find(std::string_view name) const;

  // The number of distinct points; nothing if a parameter is continuous or the number exceeds 2^53.
  std::optional<std::uint64_t> Cardinality() const;

  // The parameters in groups that are active together, by their indices. A group comes after those
  // that its condition depends on.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  // Whether a parameter's condition holds, which depends on the values of earlier groups alone. A
  // condition on a parameter that is not active does not hold.
  bool IsActive(const Point& point, std::size_t index) const;
  // Whether every constraint holds. One that mentions an inactive parameter does; one that cannot
  // be computed (a division by zero) does not.
  bool Satisfies(const Point& point) const;

  // Of an active parameter, in the space.
  Value ValueAt(const Point& point, std::size_t index) const;
  // The values of a discrete parameter by number, below its Cardinality: what a Point holds. Steps
  // of a float that is written in decimals are those decimals: 0, 0.1, 0.2, 0.3, not
  // 0.30000000000000004.
  double Nth(std::size_t index, std::uint64_t number) const;
  // Maps unit-cube coordinates in [0, 1) to a point: every sampler's way in, so that log scales,
  // steps and choices are treated in one place. The values of a discrete parameter get cells of
  // equal width (log integers: of equal ratio). Coordinates outside are moved to the nearest
  // inside.
  Point FromUnit(const std::vector<double>& unit) const;
  // The inverse, to the middle of the cell for discrete parameters.
  std::vector<double> ToUnit(const Point& point) const;
  // One coordinate of FromUnit, and of ToUnit.
  double FromUnit(std::size_t index, double unit) const;
  double ToUnit(std::size_t index, double value) const;
  // Whether every value lies in its range, on its step: one of those that FromUnit and Nth give.
  bool Contains(const Point& point) const;

  // The point as a JSON object in parameter order, and back. Decode fails on unknown or missing
  // names and on values outside the space; it takes 3.0 for an integer, 3 for a float, and a step
  // missed by rounding.
  std::string Encode(const Point& point) const;
  Result<Point> Decode(std::string_view json) const;

 private:
  std::vector<Parameter> parameters_;
  std::vector<std::string> constraints_;
  std::vector<std::vector<std::size_t>> groups_;
};

// As a command line shows it: shortest text that reads back to the same value; true/false for
// bools.
std::string FormatValue(const Value& value);

}  // namespace sluice
