#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/read/templates.h"

namespace sluice {

// Reads a list of parameter names. A mistake, such as an empty list or a name that is not among
// `parameters`, is reported to the file, and then nothing is returned.
std::optional<std::vector<std::string>> ReadParameterList(const ConfigNode& node,
                                                          const ParameterNames& parameters);

}  // namespace sluice
