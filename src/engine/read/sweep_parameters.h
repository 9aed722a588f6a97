#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/study.h"
#include "space/space.h"

namespace sluice {

// Reads the `parameters` of a sweep, with every distribution of W&B, into a space, and what a space
// does not hold into `sweep`. Constants are choices of one. Values that are quantized are multiples
// of q inside the range, whole numbers if q is one; the normal laws reach 8 sigma to both sides.
// What has likely been misunderstood is told in `notes`; what is wrong is reported to the node's
// file under the parameter's name, and nothing is returned.
std::optional<Space> ReadSweepParameters(const ConfigNode& node, SweepSpec& sweep,
                                         std::vector<std::string>& notes);

}  // namespace sluice
