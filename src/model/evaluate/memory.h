#pragma once

#include <cstddef>
#include <vector>

#include "model/graph.h"

namespace sluice::model {

// The values that a node writes in place. Empty for most nodes. The running statistics that a batch
// norm writes are not counted: in evaluation it writes none.
std::vector<ValueId> WrittenInPlace(const Node& node);

// Which values of a graph may lie in the same memory, so that writing one changes the other. It
// errs on the side of sharing.
class Memory {
 public:
  explicit Memory(const Graph& graph);

  // Values with the same number may share memory.
  std::size_t Of(ValueId value) const;

 private:
  void Join(ValueId one, ValueId other);

  mutable std::vector<std::size_t> set_;
};

}  // namespace sluice::model
