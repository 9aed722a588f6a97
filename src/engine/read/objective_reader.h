#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/study.h"

namespace sluice {

// Reads 'objective' of a study. `unit`, the budget's unit, is not a metric. Mistakes are reported
// to the file; then there is no result.
std::optional<Objective> ReadObjective(const ConfigMap& study, const std::string& unit);

// Reads 'stop_at', which may be missing: the values at which the study ends. `objective` is null
// where it has mistakes. Mistakes are reported to the file.
std::vector<StopAt> ReadStopAt(const ConfigNode* node, const Objective* objective,
                               const std::string& unit);

}  // namespace sluice
