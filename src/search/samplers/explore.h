#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "space/space.h"

namespace sluice {

// The parameters of a fork (PBT's explore): those of its parent, slightly changed.
//
// Only parameters that may change are changed. With probability 0.25 a parameter is drawn again by
// its law. Otherwise a number is multiplied by 0.8 or by 1.2. (On an inverse log scale, the
// mirrored value low + high - x is multiplied instead of x.) The number stays within its range and
// on its steps, and moves by at least one step if it can. An ordinal moves to a neighbour; a
// categorical stays. A parameter that was inactive in the parent is drawn. Constraints are met by
// trying again; after a hundred failures the parent's own point is returned.
//
// The result is a function of the seed, the fork's number, the parent's point (which must lie in
// the space), and which parameters may change.
Point Explore(const Space& space, std::uint64_t seed, std::uint64_t fork, const Point& parent,
              const std::vector<bool>& may_change);

// Which parameters a fork may change: the parameters with these names. Without names it may change
// the floats, because a checkpoint can be loaded whatever their values are. A width or a number of
// layers, in contrast, fixes the shapes in a checkpoint.
std::vector<bool> MayChange(const Space& space, const std::vector<std::string>& names);

// The names of the parameters that a fork may change, and of those that it keeps from its parent.
struct ForkNames {
  std::vector<std::string> changed;
  std::vector<std::string> kept;
};
ForkNames NamesInForks(const Space& space, const std::vector<std::string>& names);

}  // namespace sluice
