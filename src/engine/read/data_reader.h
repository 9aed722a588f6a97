#pragma once

#include "config/config.h"
#include "data/sets/data_spec.h"

namespace sluice {

// Reads the key `data` of a study: a path, or a map. Mistakes are reported to the file. Whether the
// files are there, and go together, is not looked at.
data::DataSpec ReadDataSpec(const ConfigNode& node);

}  // namespace sluice
