#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/dtype.h"

namespace sluice::model {

// A network as a graph of PyTorch's operators, un-decomposed, in an order in which they can be
// executed. It has this form whether it was read from an archive or built by the zoo.

enum class ValueId : std::uint32_t {};  // into Graph::values
enum class NodeId : std::uint32_t {};   // into Graph::nodes

inline std::size_t Index(ValueId value) { return static_cast<std::size_t>(value); }
inline std::size_t Index(NodeId node) { return static_cast<std::size_t>(node); }

// A size that inputs decide, such as the batch.
struct Symbol {
  std::string name;
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
  std::int64_t example = 0;  // what it was when the network was exported
};

struct Size {
  std::int64_t number = 0;  // with a symbol: the size when the network was exported; -1: unknown
  std::string symbol = {};  // "s77", or a formula such as "4*s77"; empty: always this number
};

// The number, or what decides it.
std::string SizeText(const Size& size);

struct Value {
  enum class Kind : std::uint8_t { kTensor, kInteger, kReal, kBoolean };
  std::string name;
  Kind kind = Kind::kTensor;
  DType dtype = DType::kFloat32;
  std::vector<Size> sizes = {};  // of a tensor
};

struct IntegerOrValue {
  std::int64_t number = 0;
  std::optional<ValueId> value = {};  // set for a number that is computed
};

// "cpu", "strided", "contiguous": recorded, but without effect on sizes.
struct Setting {
  enum class Kind : std::uint8_t { kDevice, kLayout, kMemoryFormat };
  Kind kind = Kind::kDevice;
  std::string text;
};

using ArgumentValue =
    std::variant<std::monostate, ValueId, std::vector<std::optional<ValueId>>, std::int64_t, double,
                 bool, std::string, std::vector<IntegerOrValue>, std::vector<double>,
                 std::vector<bool>, DType, Setting>;

struct Argument {
  std::string name;  // as in the operator's schema
  ArgumentValue value;
  bool keyword = false;
};

// Settings under which some of the nodes run.
struct Region {
  bool no_grad = false;
  // Of torch.autocast; empty: as outside of the region.
  std::string autocast_device;
  bool autocast_enabled = false;
};

struct Node {
  std::string name;
  std::string op;     // "aten.conv2d.default", "operator.mul"
  std::string label;  // the module it belongs to: "layers.0.attention"; may be empty
  std::vector<Argument> arguments;
  std::vector<std::optional<ValueId>> outputs;
  bool returns_list = false;
  std::optional<std::uint32_t> region;  // into Graph::regions
};

// Where the elements of a tensor lie in an archive.
struct Storage {
  std::string member;       // of the archive; empty: none, the tensor is to be drawn
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> strides;
};

// What the network holds: parameters, buffers and constants.
struct Parameter {
  enum class Role : std::uint8_t { kParameter, kBuffer, kConstant };
  std::string name;  // "layers.0.weight"
  Role role = Role::kParameter;
  ValueId value{};
  std::vector<std::int64_t> sizes = {};
  bool trainable = false;
  bool persistent = true;                     // part of a state dict
  std::optional<std::uint32_t> tied_to = {};  // an earlier parameter that is the same tensor
  Storage storage = {};
};

struct Graph {
  std::vector<Symbol> symbols;
  std::vector<Value> values;
  std::vector<Parameter> parameters;
  std::vector<ValueId> inputs;  // of the user
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;
  std::vector<Region> regions;
  std::string made_by;  // "torch 2.13.0"; may be empty

  const Value& value(ValueId id) const { return values[Index(id)]; }
};

std::string_view Name(Parameter::Role role);

// Calls `call` with each value among the arguments of a node, also with those in lists.
template <typename Call>
void ForEachOperand(const Node& node, Call call) {
  for (const Argument& argument : node.arguments) {
    if (const auto* value = std::get_if<ValueId>(&argument.value)) call(*value);
    if (const auto* values = std::get_if<std::vector<std::optional<ValueId>>>(&argument.value))
      for (const auto& value : *values)
        if (value) call(*value);
    if (const auto* numbers = std::get_if<std::vector<IntegerOrValue>>(&argument.value))
      for (const IntegerOrValue& number : *numbers)
        if (number.value) call(*number.value);
  }
}

// "view" for "aten.view.default", "add" for "aten.add_.Tensor", which writes in place.
// "operator.mul" stays as it is.
std::string_view OperatorOf(const Node& node);

// Null if the node has no such argument.
const Argument* Find(const Node& node, std::string_view name);

}  // namespace sluice::model
