#pragma once

#include <cstddef>
#include <string_view>

#include "train/step.h"

namespace sluice::train {

// What a node does that computes a number: "operator.mul", "aten.sym_size.int". Its operands stand
// in the order of the node's arguments.
struct NumberRule {
  Action action;  // empty: there is no such operator
  std::size_t operands = 2;
};
NumberRule NumberRuleOf(std::string_view op);

}  // namespace sluice::train
