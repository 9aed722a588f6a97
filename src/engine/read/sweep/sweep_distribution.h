#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "space/space.h"

namespace sluice {

// Reads the name of a parameter's distribution. Reports a name that W&B does not have. If another
// tuner has that name, the message says what W&B calls the distribution.
std::optional<std::string> ReadSweepDistribution(const ConfigNode& node);

// Reads a parameter with numbers as values: its map names a distribution other than `constant`,
// `categorical` and `categorical_w_probabilities`, or has min and max. The map belongs to `node`,
// which messages name. Returns nothing if there are mistakes.
std::optional<Parameter> ReadSweepNumbers(const ConfigNode& node, const ConfigMap& map,
                                          const std::string& name, std::vector<std::string>& notes);

}  // namespace sluice
