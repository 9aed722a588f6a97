#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/study.h"

namespace sluice {

// Reads 'objective' of a study. The metric must not be `unit`, the unit of the budget. Mistakes are
// reported to the file, and then nothing is returned.
std::optional<Objective> ReadObjective(const ConfigMap& study, const std::string& unit);

// Reads 'stop_at': the values at which the study ends. `node` is null if the key is missing.
// `objective` is null if the objective has mistakes. Mistakes are reported to the file.
std::vector<StopAt> ReadStopAt(const ConfigNode* node, const Objective* objective,
                               const std::string& unit);

}  // namespace sluice
