#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::train {

// The nodes of a network that have no rule for several trials at once, and what they cost.
struct Fallbacks {
  struct Node {
    std::string where;  // "node 'trace' (aten.trace.default in 'head')"
    std::string how;    // "by vmap", "trial by trial: ..."
    // Of the time of a step without its update: of running the network and of its gradients.
    double share = 0;
  };
  std::vector<Node> nodes;
  std::size_t all_nodes = 0;  // of the network

  double Share() const;
};

// Trains three trials of the network together, on numbers that are drawn. Fails if it cannot be
// opened or run.
Result<Fallbacks> MeasureFallbacks(const std::string& network, double scale = 1);

// Lines to print.
std::string FallbacksText(const Fallbacks& fallbacks);

}  // namespace sluice::train
