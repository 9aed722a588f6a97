#pragma once

#include <optional>

#include "base/random.h"
#include "space/space.h"

namespace sluice {

// A random point by the parameters' laws, at which the constraints hold: drawn again until they do.
// After a million draws in vain, or fewer where one takes long, one of all points, each as likely as the others, if they can be gone
// through. Nothing if there is none to be found.
std::optional<Point> DrawPoint(const Space& space, Random& random);

}  // namespace sluice
