#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "space/space.h"

namespace sluice {

// Widens `parameter` to the values of both. Its range covers both ranges. Its step becomes as fine
// as both need (a float that would need another step becomes continuous). Fails, naming the
// parameter, where the kinds, the scales or the choices differ.
Status Widen(Parameter& parameter, const Parameter& other);

// The same for a value that was used. The value may lie outside of the range or between its steps,
// as values that a user enqueued may. Choices stay as they are.
void Widen(Parameter& parameter, double value);

// Turns a range of one value, which a space does not allow, into a choice of that value.
Parameter AsInSpace(Parameter parameter);

// What a Point holds for a value; NaN if it is not one of the parameter's.
double NumberOf(const Space& space, std::size_t index, const Value& value);

// A point with NaN where no value is given or it is not one of the parameter's.
Point PartialPoint(const Space& space, const std::map<std::string, Value>& values);

}  // namespace sluice
