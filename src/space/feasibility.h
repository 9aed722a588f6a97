#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "space/space.h"

namespace sluice {

// What the conditions and constraints of a space leave of it.
struct Feasibility {
  struct Rule {
    std::uint64_t failed = 0;
    std::uint64_t undefined = 0;  // of those that failed: it could not be computed
    std::string undefined_at;     // an example, as "lr=0.1, momentum=0"
    std::uint64_t held_with = 0;  // bits of the first 64 rules: which ones held where it did
  };

  bool exact = false;  // every point was looked at, once; else points drawn at random
  std::uint64_t looked_at = 0;
  std::uint64_t satisfying = 0;
  // All points that satisfy, if they could be gone through.
  std::optional<std::uint64_t> points;
  std::vector<Rule> rules;                // as Space::constraints
  std::vector<std::size_t> never_active;  // parameters

  double share() const {
    return looked_at == 0 ? 1 : static_cast<double>(satisfying) / static_cast<double>(looked_at);
  }
};

// Looks at all points of a small discrete space, at 200,000 drawn by the laws of another (fewer
// where its expressions are very long, or once it is clear that enough satisfy). The same for the
// same space. Nothing to look at where it is plain.
Feasibility Examine(const Space& space);

// Fails where no point satisfies the constraints, naming the one that never holds, or those that
// never hold together; and where so few do (below 1 in 10,000) that a sampler could not find them
// nor go through all.
Status CheckFeasible(const Space& space, const Feasibility& found);
// Which constraint fails most; nothing if there are none.
std::optional<std::size_t> HardestRule(const Feasibility& found);

// What a user should know although the space can be used, one text each: few points satisfy, a
// parameter is never active, a constraint cannot be computed somewhere.
std::vector<std::string> Remarks(const Space& space, const Feasibility& found);

}  // namespace sluice
