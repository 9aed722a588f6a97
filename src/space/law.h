#pragma once

#include "space/parameter.h"

namespace sluice {

// The value at a coordinate of the unit interval: the inverse of the law's distribution function,
// cut to the range. Never decreases with the coordinate, and leaves no value out; what is outside
// [0, 1) is moved to the nearest inside. Discrete values have cells: half a step of the law to both
// sides (the ends have what lies there too), or a choice's weight.
double FromUnit(const Parameter& parameter, double unit);

// The coordinate of a value of the parameter, in [0, 1): the middle of its cell if it has one. A
// cell narrower than 2^-53 may give a neighbour's coordinate.
double ToUnit(const Parameter& parameter, double value);

// How much of a normal or lognormal lies in the range.
double LawMass(const Parameter& parameter);

}  // namespace sluice
