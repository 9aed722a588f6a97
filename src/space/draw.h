#pragma once

#include <optional>

#include "base/random.h"
#include "space/space.h"

namespace sluice {

// Draws points by the parameters' laws, and returns the first at which the constraints hold. If a
// million draws fail (fewer where a draw is expensive), the points are enumerated, if possible, and
// one of them is drawn with equal probability. Nothing if no point was found.
std::optional<Point> DrawPoint(const Space& space, Random& random);

}  // namespace sluice
