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
  std::vector<Node> nodes;  // of the cluster that is simulated; none where nothing good was said
  std::vector<std::string> names;      // of the clusters there are to choose from; usually none
  std::string chosen;                  // of them, the one whose nodes these are
  std::vector<std::string> elsewhere;  // names of nodes that only the others have
};

// Reads 'nodes', or 'clusters', of which the wanted one is chosen, or the first; the others are read for
// their mistakes. What is wrong is reported to the file.
ScenarioCluster ReadCluster(const ConfigMap& scenario, std::string_view wanted);

// Reads 'failures', which may be missing: those of these nodes. What is said of nodes that are elsewhere is
// only read for its mistakes.
std::vector<NodeFailure> ReadFailures(const ConfigNode* list, const std::vector<Node>& nodes,
                                      const std::vector<std::string>& elsewhere);

}  // namespace sluice
