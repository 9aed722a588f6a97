#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "space/space.h"

namespace sluice {

// The distribution that a parameter of a sweep names. Reports what is none, with what it is called here if
// another tuner has it.
std::optional<std::string> ReadSweepDistribution(const ConfigNode& node);

// Reads a parameter that has numbers for values: one whose map names a distribution other than
// `constant`, `categorical` and `categorical_w_probabilities`, or has min and max. The map belongs
// to `node`, which messages name. Nothing where something is wrong.
std::optional<Parameter> ReadSweepNumbers(const ConfigNode& node, const ConfigMap& map,
                                          const std::string& name, std::vector<std::string>& notes);

}  // namespace sluice
