#pragma once

#include <optional>

#include "base/random.h"
#include "space/space.h"

namespace sluice {

// A random point by the parameters' laws at which the constraints hold, drawn again until they do.
// After a million draws in vain (fewer where a draw is expensive) it is one of all points with
// equal probability, if the points can be enumerated. Nothing if no point was found.
std::optional<Point> DrawPoint(const Space& space, Random& random);

}  // namespace sluice
