#pragma once

#include <string>

#include "config/config.h"

namespace sluice {

// How a parameter that is described as other tuners do it, or as a bare value, is written here:
// "; write 'lr: {float: [0.1, 1]}'". Nothing if that cannot be told.
std::string SuggestParameter(const ConfigNode& node, const std::string& name);

}  // namespace sluice
