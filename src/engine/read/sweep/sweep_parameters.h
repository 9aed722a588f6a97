#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/study.h"
#include "space/space.h"

namespace sluice {

// Reads the `parameters` of a sweep, with every distribution of W&B, into a space. What a space
// does not hold goes into `sweep`. A constant is a choice of one. Quantized values are multiples of
// q inside the range, and whole numbers if q is one. The normal laws reach 8 sigma to both sides.
// Remarks on likely misunderstandings are added to `notes`. What is wrong is reported to the file
// of the node under the name of the parameter, and nothing is returned.
std::optional<Space> ReadSweepParameters(const ConfigNode& node, SweepSpec& sweep,
                                         std::vector<std::string>& notes);

}  // namespace sluice
