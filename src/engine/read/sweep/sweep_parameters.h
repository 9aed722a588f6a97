#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/study.h"
#include "space/space.h"

namespace sluice {

// Reads the `parameters` of a sweep, with every distribution of W&B, into a space. What a space
// cannot hold goes into `sweep`. A constant is a choice with one value. Quantized values are
// multiples of q inside the range. They are whole numbers if q is a whole number. The normal laws
// are cut off at 8 sigma on both sides. Remarks on likely misunderstandings are added to `notes`.
// Mistakes are reported to the file of the node under the name of the parameter, and then nothing
// is returned.
std::optional<Space> ReadSweepParameters(const ConfigNode& node, SweepSpec& sweep,
                                         std::vector<std::string>& notes);

}  // namespace sluice
