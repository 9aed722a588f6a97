#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "sim/read/scenario.h"

namespace sluice {

// What a file says of a study outside the study's own entry.
struct StudyLayers {
  std::string default_name;        // of a study without a name in its entry
  std::vector<ConfigMap> above;    // keys of a policy that replace the study's own
  std::optional<ConfigMap> below;  // the defaults, for keys that the study does not have
};

// Reads a study of a scenario whose nodes and pipeline jobs are known. Mistakes are reported to the
// file. A setting that a study may have but a simulation cannot carry out is a mistake too. Returns
// nullopt if the entry is not a map.
std::optional<ScenarioStudy> ReadScenarioStudy(const ConfigNode& item, const StudyLayers& around,
                                               const Scenario& scenario);

}  // namespace sluice
