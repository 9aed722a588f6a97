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

const Argument* Find(const Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.arguments, name, &Argument::name);
  return found == node.arguments.end() ? nullptr : &*found;
}

}  // namespace sluice::model
