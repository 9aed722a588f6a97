#pragma once

#include <string>

#include "engine/study.h"
#include "space/space.h"

namespace sluice {

// The name of a trial's shape at this point, as the speed model uses it: the study's name, followed
// by the values of the parameters that the study's `shape` names, as in "fashion model=mlp
// batch_size=64". A parameter that is not active has an empty value. Two points get the same text
// only if they agree in all these parameters.
std::string ShapeOf(const StudySpec& spec, const Point& point);

// Whether trials at these points have the same shape.
bool HaveOneShape(const StudySpec& spec, const Point& a, const Point& b);

}  // namespace sluice
