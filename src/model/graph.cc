#include "model/graph.h"

#include <algorithm>

namespace sluice::model {

std::string_view Name(Parameter::Role role) {
  switch (role) {
    case Parameter::Role::kParameter: return "parameter";
    case Parameter::Role::kBuffer: return "buffer";
    case Parameter::Role::kConstant: return "constant";
  }
  return "";
}

std::string SizeText(const Size& size) {
  return size.symbol.empty() ? std::to_string(size.number) : size.symbol;
}

std::string_view OperatorOf(const Node& node) {
  std::string_view op = node.op;
  if (!op.starts_with("aten.")) return op;
  op.remove_prefix(5);
  op = op.substr(0, op.find('.'));
  // "__and__" keeps its underscores.
  if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
  return op;
}

const Argument* Find(const Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.arguments, name, &Argument::name);
  return found == node.arguments.end() ? nullptr : &*found;
}

}  // namespace sluice::model
