#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "train/call.h"

namespace sluice::train {

// What a rule does when the program runs.
using Action = std::function<void(Call&)>;

// What a rule may look at when a program is prepared.
struct Signature {
  const c10::OperatorHandle& op;
  const c10::FunctionSchema& schema;
  const std::vector<Operand>& operands;

  // The place of an argument by its name in the schema; -1 if there is none.
  int Place(std::string_view name) const;
  // Places of the arguments that are tensors, missing ones too.
  std::vector<int> Tensors() const;
};

// Chooses how a step runs, from its operator's signature. An empty action: the rule does not cover
// this overload.
using Rule = Action (*)(const Signature& signature);

// One operator to call. Most steps are one node; a rule may claim several nodes at once.
struct Step {
  std::vector<model::NodeId> nodes;
  std::optional<c10::OperatorHandle> op;  // empty for numbers, which need no operator
  std::vector<Operand> operands;          // in the order of the schema
  Action action;                          // how it runs if an operand is stacked
  bool vmap = false;                      // without an action: by vmap instead of trial by trial
  bool always_acts = false;               // also if all operands are shared: it draws, or writes
  std::optional<std::uint32_t> region;
  // Where results go; empty where none is wanted.
  std::vector<std::optional<Register>> outputs;
  bool returns_list = false;
  // The operand that a node writes in place: the result takes its place, in its type.
  std::optional<Register> written;
  std::vector<Register> reads;  // all registers of the operands
  std::vector<Register> freed;  // after this step
};

}  // namespace sluice::train
