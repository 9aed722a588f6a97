#pragma once

#include <string>

#include "engine/study.h"
#include "space/space.h"

namespace sluice {

// Whether trials of the study may have different shapes.
bool HasSeveralShapes(const StudySpec& spec);

// The name of a trial's shape at this point, as the speed model uses it: the study's name, followed
// by the values of the parameters that the study's `shape` names, as in "fashion model=mlp
// batch_size=64". A parameter that is not active has an empty value. Of a
// parameter in `shape_by_presence`, the value is "on" where it is active. Two points get the same
// text only if they have the same shape.
std::string ShapeOf(const StudySpec& spec, const Point& point);

// Whether trials at these points have the same shape.
bool HaveOneShape(const StudySpec& spec, const Point& a, const Point& b);

}  // namespace sluice
