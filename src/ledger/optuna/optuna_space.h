#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "space/space.h"

namespace sluice {

// Widens `parameter` so that it has the values of both. Its range then covers both ranges. Its step
// becomes as fine as both need (a float that would need another step becomes continuous). Fails,
// naming the parameter, if the kinds, the scales or the choices differ.
Status Widen(Parameter& parameter, const Parameter& other);

// The same for a value that was used. The value may lie outside of the range or between its steps,
// as values that a user enqueued may. Choices stay as they are.
void Widen(Parameter& parameter, double value);

// Turns a range of one value, which a space does not allow, into a choice of that value.
Parameter AsInSpace(Parameter parameter);

// The number that a Point holds for this value; NaN if the parameter does not have the value.
double NumberOf(const Space& space, std::size_t index, const Value& value);

// A point of these values. It has NaN for a parameter whose value is not given, or is not one that
// the parameter has.
Point PartialPoint(const Space& space, const std::map<std::string, Value>& values);

}  // namespace sluice
