#include "model/analyse/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::model {
namespace {

// No network has a dimension or a number as large. Up to here, what rules add and multiply fits
// into 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

// "view" for "aten.view.default", "add" for "aten.add_.Tensor", "operator.mul" as it is.
std::string OperatorOf(std::string_view op) {
  if (!op.starts_with("aten.")) return std::string(op);
  op.remove_prefix(5);
  op = op.substr(0, op.find('.'));
  // "__and__" keeps its underscores.
  if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
  return std::string(op);
}

}  // namespace

Step::Step(const Graph& graph, NodeId id, Inference& inference)
    : graph_(graph),
      node_(graph.nodes[Index(id)]),
      id_(id),
      inference_(inference),
      op_(OperatorOf(node_.op)),
      reason_(fmt::format("{} ({})", node_.name, op_)) {
  bool from_input = false;
  ForEachOperand(node_, [&](ValueId value) { from_input |= inference_.from_input_[Index(value)]; });
  for (const auto& output : node_.outputs)
    if (output) inference_.from_input_[Index(*output)] = from_input;
}

void Step::Fail(std::string_view message) {
  if (error_.empty()) error_ = message;
}

const Argument* Step::Get(std::string_view name) const { return Find(node_, name); }

bool Step::Has(std::string_view name) const {
  const Argument* argument = Get(name);
  return argument != nullptr && !std::holds_alternative<std::monostate>(argument->value);
}

bool Step::IsTensor(std::string_view name) const {
  const Argument* argument = Get(name);
  const auto* value = argument == nullptr ? nullptr : std::get_if<ValueId>(&argument->value);
  return value != nullptr && graph_.value(*value).kind == Value::Kind::kTensor;
}

Shape Step::ShapeOfArgument(const ArgumentValue& value) {
  if (const auto* id = std::get_if<ValueId>(&value)) return inference_.shapes_[Index(*id)];
  const bool is_number = std::holds_alternative<std::int64_t>(value) ||
                         std::holds_alternative<double>(value) ||
                         std::holds_alternative<bool>(value);
  if (!is_number) Fail("expected a tensor or a number as an argument, found something else");
  return {};
}

Shape Step::Tensor(std::string_view name) {
  const Argument* argument = Get(name);
  if (argument != nullptr) return ShapeOfArgument(argument->value);
  Fail(fmt::format("expected an argument '{}', found none", name));
  return {};
}

Shape Step::First() {
  if (!node_.arguments.empty()) return ShapeOfArgument(node_.arguments.front().value);
  Fail("expected an argument, found none");
  return {};
}

std::vector<std::optional<ValueId>> Step::Values(std::string_view name) const {
  const Argument* argument = Get(name);
  if (argument == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&argument->value))
    return *list;
  return {};
}

std::vector<Shape> Step::Tensors(std::string_view name) {
  std::vector<Shape> shapes;
  for (const auto& value : Values(name)) {
    if (value) {
      shapes.push_back(inference_.shapes_[Index(*value)]);
    } else {
      Fail(fmt::format("'{}': expected tensors, found one that is none", name));
    }
  }
  if (shapes.empty()) Fail(fmt::format("expected tensors as '{}', found none", name));
  return shapes;
}

std::vector<Shape> Step::AllTensors() {
  std::vector<Shape> shapes;
  for (const Argument& argument : node_.arguments) {
    if (const auto* id = std::get_if<ValueId>(&argument.value))
      shapes.push_back(inference_.shapes_[Index(*id)]);
    if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&argument.value))
      for (const auto& value : *list)
        if (value) shapes.push_back(inference_.shapes_[Index(*value)]);
  }
  if (shapes.empty()) Fail("expected a tensor as an argument, found none");
  return shapes;
}

std::int64_t Step::Integer(std::string_view name, std::int64_t otherwise) {
  const Argument* argument = Get(name);
  if (argument == nullptr || std::holds_alternative<std::monostate>(argument->value))
    return otherwise;
  if (const auto* number = std::get_if<std::int64_t>(&argument->value))
    return std::clamp(*number, -kMostElements, kMostElements);
  if (const auto* value = std::get_if<ValueId>(&argument->value)) {
    if (const auto& size = inference_.sizes_[Index(*value)]) return SizeOf(*size);
  }
  Fail(fmt::format("'{}': expected an integer, found something else", name));
  return otherwise;
}

double Step::Real(std::string_view name, double otherwise) {
  const Argument* argument = Get(name);
  if (argument != nullptr)
    if (const auto* number = std::get_if<double>(&argument->value)) return *number;
  return Has(name) ? static_cast<double>(Integer(name, 0)) : otherwise;
}

std::vector<double> Step::Reals(std::string_view name) {
  const Argument* argument = Get(name);
  if (argument == nullptr) return {};
  if (const auto* numbers = std::get_if<std::vector<double>>(&argument->value)) return *numbers;
  std::vector<double> numbers;
  for (const std::int64_t number : Integers(name)) numbers.push_back(static_cast<double>(number));
  return numbers;
}

bool Step::IsSize(std::string_view name) const {
  const Argument* argument = Get(name);
  const auto* value = argument == nullptr ? nullptr : std::get_if<ValueId>(&argument->value);
  return value != nullptr && inference_.sizes_[Index(*value)].has_value();
}

std::vector<Dim> Step::Operands() {
  std::vector<Dim> operands;
  for (std::size_t i = 0; i < node_.arguments.size(); ++i) {
    const ArgumentValue& value = node_.arguments[i].value;
    if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && *number >= 0) {
      operands.push_back(DimOf({.number = *number, .value = std::nullopt}, i, 0));
    } else if (const auto* id = std::get_if<ValueId>(&value)) {
      operands.push_back(DimOf({.number = 0, .value = *id}, i, 0));
    } else {
      Fail("expected sizes as operands");
    }
  }
  if (operands.empty()) Fail("expected sizes as operands");
  return operands;
}

bool Step::Boolean(std::string_view name, bool otherwise) const {
  const Argument* argument = Get(name);
  const auto* flag = argument == nullptr ? nullptr : std::get_if<bool>(&argument->value);
  return flag == nullptr ? otherwise : *flag;
}

std::string Step::Text(std::string_view name) const {
  const Argument* argument = Get(name);
  const auto* text = argument == nullptr ? nullptr : std::get_if<std::string>(&argument->value);
  return text == nullptr ? "" : *text;
}

std::vector<std::int64_t> Step::Integers(std::string_view name) {
  const Argument* argument = Get(name);
  if (argument == nullptr || std::holds_alternative<std::monostate>(argument->value)) return {};
  const auto* list = std::get_if<std::vector<IntegerOrValue>>(&argument->value);
  if (list == nullptr) {
    // An empty list has no type.
    if (const auto* none = std::get_if<std::vector<std::optional<ValueId>>>(&argument->value);
        none != nullptr && none->empty())
      return {};
    return {Integer(name, 0)};
  }
  std::vector<std::int64_t> numbers;
  for (const IntegerOrValue& each : *list) {
    if (!each.value) {
      numbers.push_back(std::clamp(each.number, -kMostElements, kMostElements));
    } else if (const auto& size = inference_.sizes_[Index(*each.value)]) {
      numbers.push_back(SizeOf(*size));
    } else {
      Fail(
          fmt::format("'{}': expected sizes that are known, found one that depends on data", name));
    }
  }
  return numbers;
}

Dim Step::DimOf(const IntegerOrValue& number, std::size_t argument, std::size_t element) {
  if (number.value) {
    if (const auto& size = inference_.sizes_[Index(*number.value)]) return *size;
    Fail("expected sizes that are known, found one that depends on data");
    return Fixed(1);
  }
  if (number.number > kMostElements) Fail("a size that no tensor has");
  const Dim dim = New(std::min(number.number, kMostElements));
  inference_.arguments_.push_back(
      {.node = id_, .argument = argument, .element = element, .dim = dim});
  return dim;
}

std::vector<std::optional<Dim>> Step::Sizes(std::string_view name) {
  std::vector<std::optional<Dim>> sizes;
  const Argument* argument = Get(name);
  if (argument == nullptr) return sizes;
  const auto at = static_cast<std::size_t>(argument - node_.arguments.data());
  std::vector<IntegerOrValue> list;
  if (const auto* given = std::get_if<std::vector<IntegerOrValue>>(&argument->value)) {
    list = *given;
  } else if (const auto* one = std::get_if<std::int64_t>(&argument->value)) {
    list = {{.number = *one, .value = std::nullopt}};
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].value && list[i].number == -1) {
      sizes.emplace_back();
    } else if (!list[i].value && list[i].number < 0) {
      Fail(fmt::format("'{}': expected sizes of at least 0, found {}", name, list[i].number));
      sizes.emplace_back();
    } else {
      sizes.emplace_back(DimOf(list[i], at, i));
    }
  }
  return sizes;
}

Dim Step::Size(std::string_view name) {
  const Argument* argument = Get(name);
  if (argument != nullptr) {
    const auto at = static_cast<std::size_t>(argument - node_.arguments.data());
    if (const auto* number = std::get_if<std::int64_t>(&argument->value);
        number != nullptr && *number >= 0)
      return DimOf({.number = *number, .value = std::nullopt}, at, 0);
    if (const auto* value = std::get_if<ValueId>(&argument->value))
      return DimOf({.number = 0, .value = *value}, at, 0);
  }
  Fail(fmt::format("expected a size as '{}'", name));
  return Fixed(1);
}

void Step::TieToSize(std::string_view name, std::size_t element, Dim dim, bool from_end) {
  const Argument* argument = Get(name);
  if (argument == nullptr) return;
  // A number that is computed changes by itself.
  if (std::holds_alternative<ValueId>(argument->value)) return;
  if (const auto* list = std::get_if<std::vector<IntegerOrValue>>(&argument->value);
      list != nullptr && (element >= list->size() || (*list)[element].value))
    return;
  inference_.arguments_.push_back(
      {.node = id_,
       .argument = static_cast<std::size_t>(argument - node_.arguments.data()),
       .element = element,
       .dim = dim,
       .from_end = from_end});
}

std::size_t Step::Axis(std::int64_t axis, std::size_t rank) {
  const auto all = static_cast<std::int64_t>(rank);
  const std::int64_t from_front = axis < 0 ? axis + all : axis;
  if (from_front >= 0 && from_front < all) return static_cast<std::size_t>(from_front);
  Fail(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  return 0;
}

void Step::SetOutput(Shape shape) {
  std::vector<Shape> one;
  one.push_back(std::move(shape));
  SetOutputs(std::move(one));
}

void Step::SetOutputs(std::vector<Shape> shapes) {
  if (!ok()) return;
  if (shapes.size() != node_.outputs.size()) {
    Fail(fmt::format("expected {} outputs, found {}", shapes.size(), node_.outputs.size()));
    return;
  }
  for (const Shape& shape : shapes) {
    if (std::ranges::any_of(
            shape, [&](Dim dim) { return SizeOf(dim) < 0 || SizeOf(dim) > kMostElements; })) {
      Fail("a size that no tensor has");
      return;
    }
  }
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (node_.outputs[i]) inference_.shapes_[Index(*node_.outputs[i])] = std::move(shapes[i]);
}

void Step::SetOutputSize(Dim dim) {
  if (SizeOf(dim) > kMostElements) Fail("a size that no tensor has");
  if (node_.outputs.size() == 1 && node_.outputs[0])
    inference_.sizes_[Index(*node_.outputs[0])] = dim;
}

std::optional<ValueId> Step::FirstValue() const {
  if (node_.arguments.empty()) return std::nullopt;
  const auto* value = std::get_if<ValueId>(&node_.arguments.front().value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void Step::Follows(ValueId from, std::size_t output, const Axes& axes) {
  if (output >= node_.outputs.size() || !node_.outputs[output]) return;
  // A value that depends on inputs is an activation, whatever parameters are in it.
  const ValueId to = *node_.outputs[output];
  if (!inference_.from_input_[Index(to)]) inference_.origins_.Follow(from, to, axes);
}

void Step::PicksFirst(const Axes& axes) {
  const auto first = FirstValue();
  if (first && !inference_.from_input_[Index(*first)] && node_.outputs.front())
    inference_.origins_.Follow(*first, *node_.outputs.front(), axes);
}

void Step::FollowsFirst() {
  const auto first = FirstValue();
  if (!first) return;
  Axes axes;
  for (std::size_t i = 0; i < ShapeOf(*first).size(); ++i) axes.push_back({i});
  for (std::size_t output = 0; output < node_.outputs.size(); ++output) {
    Follows(*first, output, axes);
    if (!node_.outputs[output]) continue;
    const std::size_t to = Index(*node_.outputs[output]);
    inference_.lengths_[to] = inference_.lengths_[Index(*first)];
    inference_.normalised_[to] = inference_.normalised_[Index(*first)];
  }
}

void Step::FollowsAll(std::size_t rank) {
  ForEachOperand(node_, [&](ValueId value) {
    const std::size_t own = ShapeOf(value).size();
    Axes axes;
    for (std::size_t i = 0; i < rank; ++i) {
      axes.emplace_back();
      if (i + own >= rank) axes.back().push_back(i + own - rank);
    }
    Follows(value, 0, axes);
  });
}

std::vector<ValueId> Step::ValuesOf(std::initializer_list<std::string_view> names) const {
  std::vector<ValueId> values;
  for (const std::string_view name : names) {
    const Argument* argument = Get(name);
    const auto* value = argument == nullptr ? nullptr : std::get_if<ValueId>(&argument->value);
    if (value != nullptr) values.push_back(*value);
  }
  return values;
}

void Step::ContractsActivations(Dim dim, std::vector<Dim> heads, std::vector<Dim> inner,
                                std::span<const ValueId> operands) {
  const bool normalised = std::ranges::any_of(operands, [&](ValueId value) {
    return static_cast<bool>(inference_.normalised_[Index(value)]);
  });
  inference_.contractions_.push_back({.node = id_,
                                      .dim = dim,
                                      .heads = std::move(heads),
                                      .inner = std::move(inner),
                                      .normalised = normalised});
}

bool Step::IsUsed(std::size_t output) const {
  return output < node_.outputs.size() && node_.outputs[output] &&
         inference_.used_[Index(*node_.outputs[output])];
}

void Step::MarkLength() {
  if (node_.outputs.size() == 1 && node_.outputs[0])
    inference_.lengths_[Index(*node_.outputs[0])] = true;
}

void Step::MarkNormalised() {
  if (node_.outputs.size() == 1 && node_.outputs[0])
    inference_.normalised_[Index(*node_.outputs[0])] = true;
}

bool Step::IsLength(std::string_view name) const {
  const std::vector<ValueId> values = ValuesOf({name});
  return !values.empty() && inference_.lengths_[Index(values.front())];
}

void Step::Contracts(ValueId value, const std::vector<std::size_t>& axes, bool lookup) {
  inference_.origins_.AddUses(id_, value, axes, lookup, inference_.uses_);
}

void Step::Contracts(std::string_view argument, const std::vector<std::size_t>& axes, bool lookup) {
  const Argument* found = Get(argument);
  const auto* value = found == nullptr ? nullptr : std::get_if<ValueId>(&found->value);
  if (value != nullptr) Contracts(*value, axes, lookup);
}

Dim Step::Same(Dim a, Dim b) {
  if (const Status same = dims().Unify(a, b, reason_); !same) Fail(same.error().message);
  return a;
}

void Step::Fix(Dim dim, std::string_view why) {
  dims().Fix(dim, fmt::format("{}: {}", reason_, why));
}

Shape Step::Broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t more = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dim x = longer[more + i];
    const Dim y = shorter[i];
    if (SizeOf(y) == 1) continue;
    out[more + i] = SizeOf(x) == 1 ? y : Same(x, y);
  }
  return out;
}

Shape Step::Broadcast(std::span<const Shape> shapes) {
  Shape out;
  for (const Shape& shape : shapes) out = Broadcast(out, shape);
  return out;
}

std::int64_t Step::Elements(const Shape& shape) const {
  std::int64_t elements = 1;
  for (const Dim dim : shape) {
    if (__builtin_mul_overflow(elements, SizeOf(dim), &elements)) return INT64_MAX;
  }
  return elements;
}

}  // namespace sluice::model
