#pragma once

#include <cstdint>

#include "space/space.h"

namespace sluice {

// What it costs to draw a value of a parameter, and to draw a point and evaluate all expressions at
// it. The unit is roughly one instruction of an expression, a few nanoseconds.
std::uint64_t CostOfValue(const Parameter& parameter);
std::uint64_t CostOfPoint(const Space& space);

}  // namespace sluice
