#include "model/evaluate/unneeded.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "model/evaluate/memory.h"

namespace sluice::model {
namespace {

// A node that returns nothing, and fails if its operands are not as expected.
bool Checks(const Node& node) {
  const std::string_view op = OperatorOf(node);
  return op.starts_with("_assert") || op.starts_with("sym_constrain_range");
}

// From the last node to the first: a node is needed if a needed node after it, or the caller, reads
// what it computes or what it writes.
std::vector<bool> FindNeeded(const Graph& graph) {
  const Memory memory(graph);
  std::vector<bool> is_read(graph.values.size());
  std::vector<bool> memory_is_read(graph.values.size());  // by Memory::Of
  const auto read = [&](ValueId value) {
    is_read[Index(value)] = true;
    memory_is_read[memory.Of(value)] = true;
  };
  std::ranges::for_each(graph.outputs, read);
  std::vector<bool> needed(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const auto output_is_read = [&](const auto& output) {
      return output && is_read[Index(*output)];
    };
    const auto write_is_read = [&](ValueId value) { return memory_is_read[memory.Of(value)]; };
    needed[i] = std::ranges::any_of(node.outputs, output_is_read) ||
                std::ranges::any_of(WrittenInPlace(node), write_is_read);
    if (needed[i]) ForEachOperand(node, read);
  }
  return needed;
}

void KeepChecks(const Graph& graph, std::vector<bool>& needed) {
  std::vector<bool> is_there(graph.values.size());
  for (const Parameter& parameter : graph.parameters) is_there[Index(parameter.value)] = true;
  for (const ValueId input : graph.inputs) is_there[Index(input)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!needed[i] && Checks(node)) {
      needed[i] = true;
      ForEachOperand(node, [&](ValueId value) {
        if (!is_there[Index(value)]) needed[i] = false;
      });
    }
    if (!needed[i]) continue;
    for (const auto& output : node.outputs)
      if (output) is_there[Index(*output)] = true;
  }
}

}  // namespace

void RemoveUnneeded(Graph& graph) {
  std::vector<bool> needed = FindNeeded(graph);
  KeepChecks(graph, needed);
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (needed[i]) kept.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(kept);
}

}  // namespace sluice::model
