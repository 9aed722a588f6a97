#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "space/expression/expression.h"
#include "space/parameter.h"

namespace sluice {

// In a point: marks a parameter that is not active.
constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();

// A value for each parameter of a space, in the order of the parameters: the number itself for
// floats and integers, the index of the choice for categorical and ordinal parameters, NaN for a
// parameter that is not active.
using Point = std::vector<double>;

// Everything that can be tuned in a study. Immutable once made.
class Space {
 public:
  Space() = default;
  // Fails on a parameter that CheckParameter refuses, on a repeated name, and on a condition that
  // is not a valid expression or that depends on itself. The message begins with the parameter's
  // name. Also fails on a constraint that is not a valid expression. That message begins with
  // "constraints: ".
  static Result<Space> Make(std::vector<Parameter> parameters,
                            std::vector<std::string> constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<std::string>& constraints() const { return constraints_; }
  std::size_t size() const { return parameters_.size(); }
  std::optional<std::size_t> Find(std::string_view name) const;

  // The number of distinct points; nothing if a parameter is continuous or the number exceeds 2^53.
  // Points that break a constraint do not count. Points that differ only in inactive parameters
  // count as one. If the space has conditions or constraints, its points are enumerated. If that
  // takes too long (some million points), nothing is returned.
  std::optional<std::uint64_t> Cardinality() const;

  // Whether every parameter is always active and every combination of values is allowed.
  bool is_plain() const { return groups_.size() <= 1 && rules_.empty(); }
  // The condition under which a parameter is active; null if the parameter is always active.
  const Expression* condition(std::size_t index) const;
  // The constraints, parsed.
  const std::vector<Expression>& rules() const { return rules_; }
  // All parameters, in the order in which they are listed, except that each comes after the
  // parameters that its condition depends on.
  const std::vector<std::size_t>& order() const { return order_; }

  // The indices of the parameters, in groups that are active together. A group comes after the
  // groups that its condition depends on. The first group has the parameters that are always
  // active.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  // Whether a parameter's condition holds. This depends on the values of earlier groups alone. A
  // condition on a parameter that is not active does not hold.
  bool IsActive(const Point& point, std::size_t index) const;
  // Whether every constraint holds. A constraint that mentions an inactive parameter holds. A
  // constraint that cannot be computed (a division by zero) does not.
  bool Satisfies(const Point& point) const;
  bool Satisfies(const Point& point, const Expression& rule) const;

  // The value of an active parameter. The value must lie in the parameter's range.
  Value ValueAt(const Point& point, std::size_t index) const;
  // Value number `number` (from 0) of a discrete parameter, as a Point holds it (NthValue). The
  // number must be below the parameter's Cardinality.
  double Nth(std::size_t index, std::uint64_t number) const;
  // Maps unit-cube coordinates in [0, 1) to a point. Every sampler draws this way, so that log
  // scales, steps and choices are treated in one place. Each value of a discrete parameter gets a
  // cell. With a law, the cell is as wide as the law's mass within half a step on both sides. With
  // weights, it is as wide as the choice's weight. Otherwise all cells are equally wide.
  // Coordinates outside [0, 1) are moved to the nearest coordinate inside. Coordinates of inactive
  // parameters are ignored. Constraints may fail at the point.
  Point FromUnit(const std::vector<double>& unit) const;
  // The inverse of FromUnit: the middle of the cell for a discrete parameter, NaN for an inactive
  // parameter.
  std::vector<double> ToUnit(const Point& point) const;
  // One coordinate of FromUnit, and of ToUnit.
  double FromUnit(std::size_t index, double unit) const;
  double ToUnit(std::size_t index, double value) const;
  // Whether the point is one of the space: every value of an active parameter is one that FromUnit
  // or Nth can give, inactive parameters (and no others) are NaN, and the constraints hold.
  bool Contains(const Point& point) const;

  // Encode writes a point as a JSON object, in the order of the parameters and without inactive
  // parameters. Decode reads such an object. It fails on unknown or missing names, on values of
  // inactive parameters, on values outside the space, and on constraints that do not hold. It
  // accepts 3.0 for an integer, 3 for a float, and a value that misses its step only by rounding.
  std::string Encode(const Point& point) const;
  Result<Point> Decode(std::string_view json) const;

 private:
  Status ReadConditions();
  Status PutInOrder();
  void PutInGroups();

  std::vector<Parameter> parameters_;
  std::vector<std::string> constraints_;
  std::vector<std::optional<Expression>> conditions_;
  std::vector<Expression> rules_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::size_t>> groups_;
};

}  // namespace sluice
