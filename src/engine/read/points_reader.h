#pragma once

#include <optional>
#include <vector>

#include "config/config.h"
#include "engine/study.h"
#include "space/point_part.h"

namespace sluice {

// What a study file says about the user's own points (enqueue) and about earlier studies
// (warm_start). Mistakes are reported to the file.

// Reads a list of maps. Each map is a point or a part of a point.
std::vector<PointPart> ReadEnqueue(const ConfigNode& node, const Space& space);

// Reads a warm start. `space` is null if the space has mistakes. Otherwise names are checked
// against it.
std::optional<WarmStart> ReadWarmStart(const ConfigNode& node, const Space* space);

}  // namespace sluice
