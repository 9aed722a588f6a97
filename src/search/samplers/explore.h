#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "space/space.h"

namespace sluice {

// The parameters of a fork (PBT's explore): those of its parent, a little changed.
//
// A parameter is drawn anew by its law with probability 0.25. Otherwise a number is multiplied by
// 0.8 or by 1.2, within its range and on its step, by a step at least (on a log scale turned round
// it is the distance from the dense end that is multiplied); an ordinal moves to a neighbour; a
// categorical stays. What the parent did not have, because a condition did not hold there, is
// drawn. Only parameters that may change do. Constraints are met by trying again; where that fails a
// hundred times, the parent's own point is the answer.
//
// A function of the seed, the fork's number, the parent's point, which is one of the space, and what
// may change, by parameter.
Point Explore(const Space& space, std::uint64_t seed, std::uint64_t fork, const Point& parent,
              const std::vector<bool>& may_change);

// The parameters that these names mean; without a name those that a checkpoint can bear whatever they
// are: floats. A width or a number of layers is part of what is saved.
std::vector<bool> MayChange(const Space& space, const std::vector<std::string>& names);

// The names of those that change, and of those that a fork has from its parent.
struct ForkNames {
  std::vector<std::string> changed;
  std::vector<std::string> kept;
};
ForkNames NamesInForks(const Space& space, const std::vector<std::string>& names);

}  // namespace sluice
