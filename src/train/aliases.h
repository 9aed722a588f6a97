#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/graph.h"
#include "train/torch.h"

namespace sluice::train {

// Which values may lie in the same memory when PyTorch runs a graph. A program computes a new
// tensor where an operator writes in place; it may do so only if no other name of that memory is
// read later. Nodes are added in their order.
class Aliases {
 public:
  explicit Aliases(const model::Graph& graph);

  // Results that are views of operands, or may be, as far as the schema tells.
  void Add(const model::Node& node, const c10::FunctionSchema& schema);
  // These two are one tensor: what an operator that writes in place returns, and what it writes.
  void Join(model::ValueId one, model::ValueId other) { set_[Root(one)] = Root(other); }

  // A value in the same memory as `written`, other than itself or what `same` says is the same
  // tensor, that is read after this node, or is kept when the step ends.
  template <typename Same>
  std::optional<model::ValueId> SeenLater(model::ValueId written, std::size_t node,
                                          Same same) const {
    const std::size_t root = Root(written);
    for (std::size_t each = 0; each < set_.size(); ++each) {
      const model::ValueId value{static_cast<std::uint32_t>(each)};
      if (Root(value) == root && last_use_[each] > node && !same(value)) return value;
    }
    return std::nullopt;
  }
  // The last node that reads a value; the number of nodes for what is kept at the end.
  std::size_t LastUse(model::ValueId value) const { return last_use_[model::Index(value)]; }

 private:
  std::size_t Root(model::ValueId value) const;

  mutable std::vector<std::size_t> set_;
  std::vector<std::size_t> last_use_;
};

}  // namespace sluice::train
