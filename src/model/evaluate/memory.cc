#include "model/evaluate/memory.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

// Of the operators that have a rule, those that return an operand or a view of it, always or
// sometimes. In the order of names.
constexpr std::string_view kShares[] = {
    "_reshape_alias",
    "_unsafe_view",
    "adjoint",
    "alias",
    "alpha_dropout",
    "broadcast_tensors",
    "chunk",
    "conj",
    "contiguous",
    "detach",
    "dropout",
    "einsum",
    "expand",
    "expand_as",
    "feature_alpha_dropout",
    "feature_dropout",
    "flatten",
    "mT",
    "matrix_H",
    "narrow",
    "pad",
    "permute",
    "positive",
    "real",
    "requires_grad",
    "reshape",
    "reshape_as",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "to",
    "transpose",
    "type_as",
    "unbind",
    "unflatten",
    "unsqueeze",
    "view",
    "view_as",
};

// They change how a tensor is seen, but none of its elements.
bool WritesNoElement(std::string_view op) { return op == "detach" || op == "requires_grad"; }

// The operands that a node's results may share memory with. Unknown operators may share any.
std::vector<ValueId> SharedOperands(const Node& node) {
  std::vector<ValueId> operands = WrittenInPlace(node);
  if (!operands.empty())
    return operands;  // a node that writes in place returns what it has written
  const std::string_view op = OperatorOf(node);
  if (!node.op.starts_with("aten.") || op.starts_with("sym_")) return {};
  ForEachOperand(node, [&](ValueId operand) { operands.push_back(operand); });
  if (FindRule(op) == nullptr || op == "broadcast_tensors") return operands;
  if (!std::ranges::binary_search(kShares, op) || operands.empty()) return {};
  // A product of several tensors is new.
  if (op == "einsum" && operands.size() > 1) return {};
  return {operands.front()};
}

}  // namespace

static_assert(std::ranges::is_sorted(kShares));

std::vector<ValueId> WrittenInPlace(const Node& node) {
  if (!node.op.starts_with("aten.")) return {};
  const std::string_view op = std::string_view(node.op).substr(5);
  const std::string_view name = op.substr(0, op.find('.'));
  const bool is_operator = name.starts_with("__") && name.ends_with("__");  // __and__, __iand__
  const Argument* written = nullptr;
  if (op.ends_with(".out")) {
    written = Find(node, "out");
  } else if (is_operator ? name.starts_with("__i") : name.ends_with('_')) {
    if (!WritesNoElement(OperatorOf(node)) && !node.arguments.empty())
      written = &node.arguments.front();
  }
  std::vector<ValueId> values;
  if (!written) return values;
  if (const auto* value = std::get_if<ValueId>(&written->value)) values.push_back(*value);
  if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&written->value))
    for (const auto& value : *list)
      if (value) values.push_back(*value);
  return values;
}

Memory::Memory(const Graph& graph) : set_(graph.values.size()) {
  std::iota(set_.begin(), set_.end(), std::size_t{0});
  for (const Parameter& parameter : graph.parameters)
    if (parameter.tied_to) Join(parameter.value, graph.parameters[*parameter.tied_to].value);
  for (const Node& node : graph.nodes) {
    for (const ValueId operand : SharedOperands(node)) {
      if (graph.value(operand).kind != Value::Kind::kTensor) continue;
      for (const auto& output : node.outputs)
        if (output) Join(*output, operand);
    }
  }
}

std::size_t Memory::Of(ValueId value) const {
  std::size_t at = Index(value);
  while (set_[at] != at) at = set_[at] = set_[set_[at]];
  return at;
}

void Memory::Join(ValueId one, ValueId other) { set_[Of(one)] = Of(other); }

}  // namespace sluice::model
