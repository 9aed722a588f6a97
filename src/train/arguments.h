#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "model/graph.h"
#include "train/program.h"
#include "train/step.h"

namespace sluice::train {

// Where the arguments of nodes come from.
struct ArgumentSources {
  const ProgramOptions& options;
  std::function<Register(model::ValueId)> of;  // a value of the graph
  std::function<Register(Value)> of_constant;  // a register that has this value in every run
};

// The arguments of a node in the order of the schema: what the node leaves out has its default, and
// devices and types are those in use. Fails with invalid_argument if an argument is unknown, is
// missing or has another type. `skipped` is an argument that the schema does
// not have.
Result<std::vector<Operand>> OperandsOf(const model::Node& node, const c10::FunctionSchema& schema,
                                        std::string_view skipped, const ArgumentSources& sources);

Operand OfRegister(Register value);

// The same for a node that computes a number: its arguments in their order.
Result<std::vector<Operand>> NumberOperandsOf(const model::Node& node,
                                              const ArgumentSources& sources);

}  // namespace sluice::train
