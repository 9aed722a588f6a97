#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"

namespace sluice::model {

// A node that runs another graph with something holding for it: no_grad, autocast.
struct RegionCall {
  Region region;
  JsonValue body;                   // a graph
  std::vector<JsonValue> operands;  // for the inputs of that graph
};

// `op` is what of its target follows "torch.ops.higher_order."; `outside` is what holds around it. Nothing, and the checked
// has seen why, for other such nodes: branches and loops.
std::optional<RegionCall> ReadRegionCall(CheckedJson& checked, const JsonValue& node,
                                         std::string_view op, const Region& outside);

}  // namespace sluice::model
