#pragma once

#include <cstddef>
#include <vector>

#include "model/graph.h"
#include "train/torch.h"

namespace sluice::train {

// Which values may lie in the same memory when PyTorch runs a graph. A program computes a new
// tensor where an operator writes in place, and must then make anew what has that memory under
// another name and is read later. Nodes are added in their order.
class Aliases {
 public:
  explicit Aliases(const model::Graph& graph);

  // Results that are views of operands, or may be, as far as the schema tells.
  void Add(const model::Node& node, const c10::FunctionSchema& schema);
  // These two are one tensor: what an operator that writes in place returns, and what it writes.
  void Join(model::ValueId one, model::ValueId other) { set_[Root(one)] = Root(other); }

  bool MayShare(model::ValueId one, model::ValueId other) const { return Root(one) == Root(other); }

  // The values in the same memory as `written` that are read after this node, or are kept when the
  // step ends.
  std::vector<model::ValueId> SeenLater(model::ValueId written, std::size_t node) const;
  // The last node that reads a value; the number of nodes for what is kept at the end.
  std::size_t LastUse(model::ValueId value) const { return last_use_[model::Index(value)]; }

 private:
  std::size_t Root(model::ValueId value) const;

  mutable std::vector<std::size_t> set_;
  std::vector<std::size_t> last_use_;
};

}  // namespace sluice::train
