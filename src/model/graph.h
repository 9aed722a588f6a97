#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/dtype.h"

namespace sluice::model {

// A network as a graph of PyTorch's own operators, not decomposed. The nodes are in an order in
// which they can be executed. A network that was read from an archive and a network that the zoo
// built have the same form.

enum class ValueId : std::uint32_t {};  // into Graph::values
enum class NodeId : std::uint32_t {};   // into Graph::nodes

inline std::size_t Index(ValueId value) { return static_cast<std::size_t>(value); }
inline std::size_t Index(NodeId node) { return static_cast<std::size_t>(node); }

// A size that the inputs decide, such as the batch.
struct Symbol {
  std::string name;
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
  std::int64_t example = 0;  // the size when the network was exported
};

struct Size {
  std::int64_t number = 0;  // with a symbol: the size when the network was exported; -1: unknown
  std::string symbol = {};  // "s77", or a formula such as "4*s77"; empty: always this number
};

// The symbol or formula, or the number if there is none.
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

// "cpu", "strided", "contiguous". A setting is recorded, but has no effect on sizes.
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
  // The kind of device that torch.autocast was called for. Empty if there is no autocast.
  std::string autocast_device;
  bool autocast_enabled = false;
};

struct Node {
  std::string name;
  std::string op;     // "aten.conv2d.default", "operator.mul"
  std::string label;  // the node's module: "layers.0.attention"; may be empty
  std::vector<Argument> arguments;
  std::vector<std::optional<ValueId>> outputs;
  bool returns_list = false;
  std::optional<std::uint32_t> region;  // into Graph::regions
};

// Where the elements of a tensor lie in an archive.
struct Storage {
  std::string member;       // of the archive; empty: no elements are stored
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> strides;
};

// A tensor that the network holds: a parameter, a buffer or a constant.
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
  std::vector<ValueId> inputs;  // what the caller of the network passes
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;
  std::vector<Region> regions;
  std::string made_by;  // "torch 2.13.0"; may be empty

  const Value& value(ValueId id) const { return values[Index(id)]; }
};

std::string_view Name(Parameter::Role role);

// Calls `call` with each value among the arguments of a node, including the values in lists.
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

// The operator's name without the prefix, the overload, and the underscore of operators that write
// in place: "view" for "aten.view.default", "add" for "aten.add_.Tensor". "operator.mul" stays as
// it is.
std::string_view OperatorOf(const Node& node);

// Null if the node has no such argument.
const Argument* Find(const Node& node, std::string_view name);

}  // namespace sluice::model
