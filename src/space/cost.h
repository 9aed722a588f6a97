#pragma once

#include <cstdint>

#include "space/space.h"

namespace sluice {

// What a value of a parameter takes to be drawn, and a point with all that is evaluated at it, in
// instructions of an expression, roughly: a few nanoseconds each.
std::uint64_t CostOfValue(const Parameter& parameter);
std::uint64_t CostOfPoint(const Space& space);

}  // namespace sluice
