#pragma once

#include <cstdint>

#include "space/space.h"

namespace sluice {

// The cost of drawing a value of a parameter, and the cost of drawing a point and evaluating all
// expressions at this point. The unit is roughly one instruction of an expression, which takes a
// few nanoseconds.
std::uint64_t CostOfValue(const Parameter& parameter);
std::uint64_t CostOfPoint(const Space& space);

}  // namespace sluice
