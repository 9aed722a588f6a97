#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "sim/read/scenario.h"

namespace sluice {

// What is said of a study elsewhere than in its own entry.
struct StudyLayers {
  std::string default_name;        // of a study that does not say its name
  std::vector<ConfigMap> above;    // what a policy says instead of the study's own keys
  std::optional<ConfigMap> below;  // the defaults, for keys that the study does not have
};

// Reads a study of a scenario whose nodes and pipeline jobs are known. Mistakes are reported to the
// file, among them what a study may say but a simulation cannot do. nullopt if the entry is no map.
std::optional<ScenarioStudy> ReadScenarioStudy(const ConfigNode& item, const StudyLayers& around,
                                               const Scenario& scenario);

}  // namespace sluice
