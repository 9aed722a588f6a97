#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"

namespace sluice::model {

// A node that runs another graph under some settings: no_grad, autocast.
struct RegionCall {
  Region region;
  JsonValue body;                   // a graph
  std::vector<JsonValue> operands;  // for the inputs of that graph
};

// `op` is the part of the node's target behind "torch.ops.higher_order.", and `outside` the
// settings of the region around the node. Empty for other higher-order nodes (branches and loops).
// Then `checked` has the reason.
std::optional<RegionCall> ReadRegionCall(CheckedJson& checked, const JsonValue& node,
                                         std::string_view op, const Region& outside);

}  // namespace sluice::model
