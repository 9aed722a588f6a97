#pragma once

#include <string>

#include "space/space.h"

namespace sluice {

// Why the points of one space are not those of another, in the same order of parameters: "it has no
// 'lr'", "'lr' has another range". Empty if they are the same. How samplers spread points over a
// space (laws, weights) does not count.
std::string WhyOtherPoints(const Space& space, const Space& other);

}  // namespace sluice
