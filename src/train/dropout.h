#pragma once

#include <vector>

#include "model/dropout_nodes.h"

namespace sluice::train {

using model::DropoutNode;
using model::DropoutNodes;
using model::LiesIn;

// Rates of one run for one of those nodes, instead of the one in the graph.
struct DropoutRates {
  model::NodeId node{};
  std::vector<double> of_trials;
};

}  // namespace sluice::train
