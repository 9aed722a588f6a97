#include "search/samplers/explore.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/planted.h"
#include "base/random.h"

namespace sluice {
namespace {

constexpr double kResample = 0.25;
constexpr double kDown = 0.8;
constexpr double kUp = 1.2;
constexpr int kExploreTries = 100;

double Multiplied(const Parameter& parameter, double value, double factor) {
  const bool turned = parameter.law == Law::kInverseLog;
  const double mirror = parameter.low + parameter.high;
  const double changed = turned ? mirror - (mirror - value) * factor : value * factor;
  return std::clamp(changed, parameter.low, parameter.high);
}

// The value of a discrete parameter that is nearest to `wanted`. It differs from `value` if there
// is another value on the side of `wanted`.
double Stepped(const Parameter& parameter, double value, double wanted) {
  const std::uint64_t before = NumberOf(parameter, value);
  std::uint64_t number = NumberOf(parameter, wanted);
  if (number == before && wanted > value && number + 1 < *parameter.Cardinality()) ++number;
  if (number == before && wanted < value && number > 0) --number;
  return NthValue(parameter, number);
}

double Perturbed(const Parameter& parameter, double value, Random& random) {
  const bool up = random.Chance(0.5);
  if (parameter.kind == ParameterKind::kCategorical) return value;
  if (parameter.kind == ParameterKind::kOrdinal) {
    const double last = static_cast<double>(parameter.choices.size()) - 1;
    return std::clamp(value + (up ? 1 : -1), 0.0, last);
  }
  const double wanted = Multiplied(parameter, value, up ? kUp : kDown);
  return parameter.Cardinality() ? Stepped(parameter, value, wanted) : wanted;
}

Point Try(const Space& space, const Point& parent, const std::vector<bool>& may_change,
          Random& random) {
  Point point(space.size(), std::numeric_limits<double>::quiet_NaN());
  for (const std::size_t index : space.order()) {
    if (!space.IsActive(point, index)) continue;
    const bool had_none = std::isnan(parent[index]);
    if (!may_change[index] && !had_none) {
      point[index] = parent[index];
      continue;
    }
    const bool anew = random.Chance(kResample) || had_none;
    point[index] = anew ? space.FromUnit(index, random.Uniform())
                        : Perturbed(space.parameters()[index], parent[index], random);
  }
  return point;
}

}  // namespace

std::vector<bool> MayChange(const Space& space, const std::vector<std::string>& names) {
  std::vector<bool> may_change;
  for (const Parameter& parameter : space.parameters()) {
    may_change.push_back(names.empty() ? parameter.kind == ParameterKind::kFloat
                                       : std::ranges::find(names, parameter.name) != names.end());
  }
  return may_change;
}

ForkNames NamesInForks(const Space& space, const std::vector<std::string>& names) {
  const std::vector<bool> may_change = MayChange(space, names);
  ForkNames found;
  for (std::size_t i = 0; i < space.size(); ++i)
    (may_change[i] ? found.changed : found.kept).push_back(space.parameters()[i].name);
  return found;
}

Point Explore(const Space& space, std::uint64_t seed, std::uint64_t fork, const Point& parent,
              const std::vector<bool>& may_change) {
  Random random = Random(seed).Fork("explore").Fork(fork);
  for (int i = 0; i < kExploreTries && !Planted("same-again"); ++i) {
    Point point = Try(space, parent, may_change, random);
    if (space.Contains(point)) return point;
  }
  return parent;
}

}  // namespace sluice
