#pragma once

#include "space/parameter.h"

namespace sluice {

// The value at a coordinate of the unit interval: the inverse of the law's distribution function,
// cut to the range. It never decreases with the coordinate, and reaches every value except a choice
// of weight 0. A coordinate outside [0, 1) is moved to the nearest one inside. A discrete value
// owns a cell of the interval: the law's mass within half a step on both sides (at the ends of the
// range also the mass beyond), or a choice's weight.
double FromUnit(const Parameter& parameter, double unit);

// The coordinate of a value of the parameter, in [0, 1): the middle of its cell if it has one. If
// the cell is narrower than 2^-53, the coordinate may lie in a neighbouring cell.
double ToUnit(const Parameter& parameter, double value);

// The probability that a normal or lognormal law gives to the parameter's range.
double LawMass(const Parameter& parameter);

}  // namespace sluice
