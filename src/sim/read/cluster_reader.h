#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "config/config.h"
#include "sim/read/scenario.h"

namespace sluice {

// The machines of a scenario.
struct ScenarioCluster {
  std::vector<Node> nodes;             // of the simulated cluster; empty if no node is valid
  std::vector<std::string> names;      // of the clusters to choose from; usually none
  std::string chosen;                  // the name of the cluster with these nodes
  std::vector<std::string> elsewhere;  // names of the other clusters' nodes
};

// Reads 'nodes' or 'clusters'. Of several clusters the one named `wanted` is chosen, or the first
// if `wanted` is empty. The other clusters are read only to report their mistakes. Mistakes are
// collected by the ConfigFile, whose Check returns them.
ScenarioCluster ReadCluster(const ConfigMap& scenario, std::string_view wanted);

// Reads 'failures', which may be missing, and returns the failures of `nodes`. Failures of the
// nodes in `elsewhere` are read only to report their mistakes.
std::vector<NodeFailure> ReadFailures(const ConfigNode* list, const std::vector<Node>& nodes,
                                      const std::vector<std::string>& elsewhere);

}  // namespace sluice
