#pragma once

#include <string_view>
#include <vector>

#include "model/graph.h"

namespace sluice::model {

// A node that drops a part of what it computes, at random.
struct DropoutNode {
  NodeId node{};
  std::string_view module;  // the label of the node: it lives as long as the graph
  double rate = 0;          // as the graph has it
};

// The nodes of a graph whose rate of dropout can be set, in their order: dropout of any rate, and
// attention and recurrent layers that drop something. A rate of 0 of those two cannot be told from
// a network that was written without dropout there. Empty for a graph that is evaluated.
std::vector<DropoutNode> DropoutNodes(const Graph& graph);

// Whether the module of a node lies in the module of this path, or is that module: "layers.0.drop"
// lies in "layers.0". All modules lie in the empty path.
bool LiesIn(std::string_view module, std::string_view path);

}  // namespace sluice::model
