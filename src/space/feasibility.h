#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "space/space.h"

namespace sluice {

// How much of a space its conditions and constraints leave.
struct Feasibility {
  struct Rule {
    std::uint64_t failed = 0;
    std::uint64_t undefined = 0;  // failures because the rule could not be computed
    std::string undefined_at;     // an example, as "lr=0.1, momentum=0"
    // One bit for each of the first 64 rules: whether that rule and this rule held together at some
    // point.
    std::uint64_t held_with = 0;
  };

  // Whether every point was looked at exactly once. Otherwise points were drawn at random.
  bool exact = false;
  std::uint64_t looked_at = 0;
  std::uint64_t satisfying = 0;
  // How many points satisfy all constraints, if the points could be enumerated.
  std::optional<std::uint64_t> points;
  std::vector<Rule> rules;                // in the order of Space::constraints
  std::vector<std::size_t> never_active;  // parameters that were active at no point

  double share() const {
    return looked_at == 0 ? 1 : static_cast<double>(satisfying) / static_cast<double>(looked_at);
  }
};

// Looks at all points of a small discrete space. In any other space it looks at 200,000 points
// drawn by the laws. It looks at fewer if the expressions are very long, or once it is clear that
// enough points satisfy the constraints. The result is the same for the same space. In a plain
// space it looks at no point.
Feasibility Examine(const Space& space);

// Fails if no point satisfies the constraints, naming the constraint that never holds or those that
// never hold together. Also fails if the points cannot be enumerated and fewer than 1 in 10,000
// satisfy the constraints, because a sampler could not find them.
Status CheckFeasible(const Space& space, const Feasibility& found);
// The constraint that fails at the most points. Empty if there are no constraints.
std::optional<std::size_t> HardestRule(const Feasibility& found);

// What a user should know although the space can be used, one text for each: few points satisfy, a
// parameter is never active, a constraint cannot be computed somewhere.
std::vector<std::string> Remarks(const Space& space, const Feasibility& found);

}  // namespace sluice
