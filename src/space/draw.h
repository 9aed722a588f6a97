#pragma once

#include <optional>

#include "base/random.h"
#include "space/space.h"

namespace sluice {

// Draws points by the parameters' laws, and returns the first point at which the constraints hold.
// After a million draws without such a point (fewer if a draw is expensive), the points are
// enumerated if possible, and one of them is drawn with equal probability. Empty if no point was
// found.
std::optional<Point> DrawPoint(const Space& space, Random& random);

}  // namespace sluice
