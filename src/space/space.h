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

// In a point: the parameter is not active.
constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();

// A value for each parameter of a space, in its order: the number itself for floats and integers,
// the index of the choice for the others, NaN for a parameter that is not active.
using Point = std::vector<double>;

// Everything that can be tuned in a study. Immutable once made.
class Space {
 public:
  Space() = default;
  // Fails, naming the parameter, on the first one that CheckParameter refuses, on a repeated name,
  // and on a condition that is no expression or that depends on itself. Constraints are expressions
  // too; what is wrong with one begins with "constraints: ".
  static Result<Space> Make(std::vector<Parameter> parameters,
                            std::vector<std::string> constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<std::string>& constraints() const { return constraints_; }
  std::size_t size() const { return parameters_.size(); }
  std::optional<std::size_t> Find(std::string_view name) const;

  // The number of distinct points; nothing if a parameter is continuous or the number exceeds 2^53.
  // With conditions or constraints those are the points that satisfy them, what is not active making
  // no difference; they have to be gone through, and there is nothing where that takes too long (some
  // million points).
  std::optional<std::uint64_t> Cardinality() const;

  // Whether every parameter is always active and every combination of values allowed.
  bool is_plain() const { return groups_.size() <= 1 && rules_.empty(); }
  // When a parameter is active; nothing if always.
  const Expression* condition(std::size_t index) const;
  // The constraints, parsed.
  const std::vector<Expression>& rules() const { return rules_; }
  // All parameters, each after those its condition depends on, otherwise as they are listed.
  const std::vector<std::size_t>& order() const { return order_; }

  // The parameters in groups that are active together, by their indices. A group comes after those
  // that its condition depends on.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  // Whether a parameter's condition holds, which depends on the values of earlier groups alone. A
  // condition on a parameter that is not active does not hold.
  bool IsActive(const Point& point, std::size_t index) const;
  // Whether every constraint holds. One that mentions an inactive parameter does; one that cannot
  // be computed (a division by zero) does not.
  bool Satisfies(const Point& point) const;
  bool Satisfies(const Point& point, const Expression& rule) const;

  // Of an active parameter, in the space.
  Value ValueAt(const Point& point, std::size_t index) const;
  // The values of a discrete parameter by number, below its Cardinality: what a Point holds. Steps
  // of a float that is written in decimals are those decimals: 0, 0.1, 0.2, 0.3, not
  // 0.30000000000000004.
  double Nth(std::size_t index, std::uint64_t number) const;
  // Maps unit-cube coordinates in [0, 1) to a point: every sampler's way in, so that log scales,
  // steps and choices are treated in one place. The values of a discrete parameter get cells of
  // equal width, or as wide as the law's mass around them (half a step to both sides) or the
  // choice's weight. Coordinates outside are moved to the nearest
  // inside, those of inactive parameters are not looked at. Constraints may fail at the point.
  Point FromUnit(const std::vector<double>& unit) const;
  // The inverse, to the middle of the cell for discrete parameters; NaN for what is not active.
  std::vector<double> ToUnit(const Point& point) const;
  // One coordinate of FromUnit, and of ToUnit.
  double FromUnit(std::size_t index, double unit) const;
  double ToUnit(std::size_t index, double value) const;
  // Whether every value lies in its range, on its step: one of those that FromUnit and Nth give;
  // whether those are NaN that are not active, and no others; and whether the constraints hold.
  bool Contains(const Point& point) const;

  // The point as a JSON object in parameter order, without what is not active, and back. Decode
  // fails on unknown or missing names, on values of parameters that are not active, and on values
  // outside the space; it takes 3.0 for an integer, 3 for a float, and a step missed by rounding.
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
