#pragma once

#include <string>

#include "model/graph.h"
#include "model/shrink/widths.h"

namespace sluice::model {

// A line of a listing:
// "conv2d = aten.conv2d.default(x, conv.weight, stride=[1, 1]) -> float32[s77, w1, 8, 8]"
std::string NodeText(const Graph& graph, const Node& node, const Widths& widths);

// "float32[s77, w1, 8, 8]"
std::string TensorText(const Graph& graph, ValueId value, const Widths& widths);

}  // namespace sluice::model
