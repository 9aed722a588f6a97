#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/graph.h"

namespace sluice::model {

// A node that multiplies with a parameter. It sums up the products along some axes of the
// parameter. The other axes are axes of the output.
struct Use {
  std::uint32_t parameter = 0;  // into Graph::parameters; the first of tied parameters
  NodeId node{};
  ValueId operand{};             // of the node: the parameter, or a value made of its elements
  std::vector<bool> contracted;  // for each axis of the parameter
  bool lookup = false;           // rows are picked, not summed up
};

// For each axis of a value: the axes of another value from which the axis came.
using Axes = std::vector<std::vector<std::size_t>>;

// For each value, the parameters that it is made of. A weight may be transposed, reshaped or sliced
// before it is used. Origins follows the weight from value to value, axis by axis.
class Origins {
 public:
  // Each parameter is made of itself. A tied parameter is made of the parameter that it is tied to.
  explicit Origins(const Graph& graph);

  bool IsMadeOfParameter(ValueId value) const { return !origins_[Index(value)].empty(); }

  // States that `to` is made of the elements of `from`. `axes` has, for each axis of `to`, the axes
  // of `from` from which the axis came.
  void Follow(ValueId from, ValueId to, const Axes& axes);

  // Adds a use of each parameter that the operand is made of: the node sums up products with the
  // operand along these axes of the operand.
  void AddUses(NodeId node, ValueId operand, const std::vector<std::size_t>& axes, bool lookup,
               std::vector<Use>& uses) const;

 private:
  struct Origin {
    std::uint32_t parameter = 0;
    Axes axes;  // for each axis of the value: the axes of the parameter from which the axis came
  };
  std::vector<std::vector<Origin>> origins_;  // by value
  std::vector<std::size_t> ranks_;            // of parameters
};

}  // namespace sluice::model
