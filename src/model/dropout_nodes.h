#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
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

// Of rates for modules, by their paths, the one that counts for a node of this module: that of the
// longest path. Null if there is none.
const std::pair<const std::string, double>* RateFor(std::string_view module,
                                                    const std::map<std::string, double>& rates);

}  // namespace sluice::model
