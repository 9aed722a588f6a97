#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/read/templates.h"

namespace sluice {

// Reads a list of names of parameters that is not empty. Reports what is wrong with it, such as a
// name that is not among `parameters`, and then returns nothing.
std::optional<std::vector<std::string>> ReadParameterList(const ConfigNode& node,
                                                          const ParameterNames& parameters);

}  // namespace sluice
