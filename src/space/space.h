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

// One tunable quantity. Floats and integers have a range (both ends included), optionally on a log scale or
// in steps from `low`; categorical and ordinal ones have choices, an ordinal's being in order.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kFloat;
  double low = 0;
  double high = 0;
  bool log = false;
  double step = 0;  // 0: continuous (floats) or 1 (integers)
  std::vector<Choice> choices;

  bool has_choices() const { return kind == ParameterKind::kCategorical || kind == ParameterKind::kOrdinal; }
  // How many values it can take; nothing for a continuous one.
  std::optional<std::uint64_t> Cardinality() const;
};

// A value for each parameter of a space, in its order: the number itself for floats and integers, the index of
// the choice for the others, NaN for a parameter that is not active.
using Point = std::vector<double>;

// What a user sees of one value: a bool, an integer, a number or a text.
using Value = Choice;

// Everything that can be tuned in a study. Immutable once made.
class Space {
 public:
  Space() = default;
  // Fails, naming the parameter, on an empty or repeated name, low >= high, log with low <= 0, a step that is
  // not positive or larger than the range, no choices, or repeated ones.
  static Result<Space> Make(std::vector<Parameter> parameters);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t size() const { return parameters_.size(); }
  std::optional<std::size_t> Find(std::string_view name) const;

  // The number of distinct points; nothing if a parameter is continuous or the number exceeds 2^53.
  std::optional<std::uint64_t> Cardinality() const;

  Value ValueAt(const Point& point, std::size_t index) const;
  // Maps unit-cube coordinates in [0, 1) to a point: every sampler's way in, so that log scales, steps and
  // choices are treated in one place.
  Point FromUnit(const std::vector<double>& unit) const;
  // The inverse, to the middle of the cell for discrete parameters.
  std::vector<double> ToUnit(const Point& point) const;
  // One coordinate of FromUnit.
  double FromUnit(std::size_t index, double unit) const;
  // Whether every value lies in its range, on its step.
  bool Contains(const Point& point) const;

  // The point as a JSON object in parameter order, and back. Decode fails on unknown or missing names and on values
  // outside the space.
  std::string Encode(const Point& point) const;
  Result<Point> Decode(std::string_view json) const;

 private:
  std::vector<Parameter> parameters_;
};

// As a command line shows it: shortest text that reads back to the same value; true/false for bools.
std::string FormatValue(const Value& value);

}  // namespace sluice
