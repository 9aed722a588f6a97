#include "space/cost.h"

#include <cmath>

namespace sluice {

std::uint64_t CostOfValue(const Parameter& parameter) {
  const bool curved = parameter.law == Law::kNormal || parameter.law == Law::kLogNormal ||
                      parameter.law == Law::kBeta;
  if (!curved || parameter.has_choices()) return 20;
  std::uint64_t cost = 40;
  if (parameter.law == Law::kBeta)
    cost = 150 + static_cast<std::uint64_t>(20 * std::sqrt(parameter.first + parameter.second));
  // For a discrete value, the edges of cells are computed too, with many evaluations of the law.
  return parameter.Cardinality() ? cost * 40 : cost;
}

std::uint64_t CostOfPoint(const Space& space) {
  std::uint64_t cost = 1;
  for (const Parameter& parameter : space.parameters()) cost += CostOfValue(parameter);
  for (const Expression& rule : space.rules()) cost += rule.size();
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (const Expression* condition = space.condition(i)) cost += condition->size();
  }
  return cost;
}

}  // namespace sluice
