#pragma once

#include <optional>
#include <vector>

#include "config/config.h"
#include "engine/study.h"
#include "space/point_part.h"

namespace sluice {

// What a study file says about the user's own points (enqueue) and about earlier studies
// (warm_start). What is wrong is reported to the file.

// A list of maps, each a point or a part of one.
std::vector<PointPart> ReadEnqueue(const ConfigNode& node, const Space& space);

// Names are checked against the space if there is one.
std::optional<WarmStart> ReadWarmStart(const ConfigNode& node, const Space* space);

}  // namespace sluice
