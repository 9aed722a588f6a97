#include "model/analyse/step.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::model {
namespace {

using ValueList = std::vector<std::optional<ValueId>>;
using IntegerList = std::vector<IntegerOrValue>;

}  // namespace

Step::Step(const Graph& graph, NodeId id, Inference& inference)
    : graph_(graph), node_(graph.nodes[Index(id)]), inference_(inference), op_(OperatorOf(node_)) {}

template <typename Kind>
const Kind* Step::Get(std::string_view name) const {
  const Argument* argument = Find(node_, name);
  return argument == nullptr ? nullptr : std::get_if<Kind>(&argument->value);
}

std::size_t Step::PositionOf(const Argument& argument) const {
  return static_cast<std::size_t>(&argument - node_.arguments.data());
}

bool Step::Has(std::string_view name) const {
  const Argument* argument = Find(node_, name);
  return argument != nullptr && !std::holds_alternative<std::monostate>(argument->value);
}

bool Step::IsTensor(std::string_view name) const {
  const auto* value = Get<ValueId>(name);
  return value != nullptr && graph_.value(*value).kind == Value::Kind::kTensor;
}

bool Step::IsSize(std::string_view name) const {
  const auto* value = Get<ValueId>(name);
  return value != nullptr && inference_.size(*value).has_value();
}

Shape Step::ShapeOfArgument(const ArgumentValue& value) const {
  if (const auto* id = std::get_if<ValueId>(&value)) return inference_.shape(*id);
  const bool is_number = std::holds_alternative<std::int64_t>(value) ||
                         std::holds_alternative<double>(value) ||
                         std::holds_alternative<bool>(value);
  if (!is_number)
    inference_.Fail("expected a tensor or a number as an argument, found something else");
  return {};
}

Shape Step::First() const {
  if (!node_.arguments.empty()) return ShapeOfArgument(node_.arguments.front().value);
  inference_.Fail("expected an argument, found none");
  return {};
}

Shape Step::Tensor(std::string_view name) const {
  if (const Argument* argument = Find(node_, name)) return ShapeOfArgument(argument->value);
  inference_.Fail(fmt::format("expected an argument '{}', found none", name));
  return {};
}

std::vector<Shape> Step::Tensors(std::string_view name) const {
  std::vector<Shape> shapes;
  for (const auto& value : ValuesOf(name)) {
    if (value) {
      shapes.push_back(inference_.shape(*value));
    } else {
      inference_.Fail(fmt::format("'{}': expected tensors, found one that is none", name));
    }
  }
  if (shapes.empty()) inference_.Fail(fmt::format("expected tensors as '{}', found none", name));
  return shapes;
}

std::vector<Shape> Step::AllTensors() const {
  std::vector<Shape> shapes;
  for (const ValueId value : AllValues()) shapes.push_back(inference_.shape(value));
  if (shapes.empty()) inference_.Fail("expected a tensor as an argument, found none");
  return shapes;
}

std::optional<ValueId> Step::FirstValue() const {
  if (node_.arguments.empty()) return std::nullopt;
  const auto* value = std::get_if<ValueId>(&node_.arguments.front().value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<ValueId> Step::ValueOf(std::string_view name) const {
  const auto* value = Get<ValueId>(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::vector<std::optional<ValueId>> Step::ValuesOf(std::string_view name) const {
  const auto* list = Get<ValueList>(name);
  return list == nullptr ? ValueList() : *list;
}

std::vector<ValueId> Step::AllValues() const {
  std::vector<ValueId> values;
  for (const Argument& argument : node_.arguments) {
    if (const auto* id = std::get_if<ValueId>(&argument.value)) values.push_back(*id);
    if (const auto* list = std::get_if<ValueList>(&argument.value))
      for (const auto& value : *list)
        if (value) values.push_back(*value);
  }
  return values;
}

std::int64_t Step::Integer(std::string_view name, std::int64_t otherwise) const {
  if (!Has(name)) return otherwise;
  if (const auto* number = Get<std::int64_t>(name))
    return std::clamp(*number, -kMostElements, kMostElements);
  if (const auto* value = Get<ValueId>(name))
    if (const auto& size = inference_.size(*value)) return inference_.SizeOf(*size);
  inference_.Fail(fmt::format("'{}': expected an integer, found something else", name));
  return otherwise;
}

double Step::Real(std::string_view name, double otherwise) const {
  if (const auto* number = Get<double>(name)) return *number;
  return Has(name) ? static_cast<double>(Integer(name, 0)) : otherwise;
}

bool Step::Boolean(std::string_view name, bool otherwise) const {
  const auto* flag = Get<bool>(name);
  return flag == nullptr ? otherwise : *flag;
}

std::string Step::Text(std::string_view name) const {
  const auto* text = Get<std::string>(name);
  return text == nullptr ? "" : *text;
}

std::vector<std::int64_t> Step::Integers(std::string_view name) const {
  if (!Has(name)) return {};
  const auto* list = Get<IntegerList>(name);
  if (list == nullptr) {
    // An empty list has no type.
    if (const auto* none = Get<ValueList>(name); none != nullptr && none->empty()) return {};
    return {Integer(name, 0)};
  }
  std::vector<std::int64_t> numbers;
  for (const IntegerOrValue& each : *list) {
    if (!each.value) {
      numbers.push_back(std::clamp(each.number, -kMostElements, kMostElements));
    } else if (const auto& size = inference_.size(*each.value)) {
      numbers.push_back(inference_.SizeOf(*size));
    } else {
      inference_.Fail(
          fmt::format("'{}': expected sizes that are known, found one that depends on data", name));
    }
  }
  return numbers;
}

std::vector<double> Step::Reals(std::string_view name) const {
  if (const auto* numbers = Get<std::vector<double>>(name)) return *numbers;
  std::vector<double> numbers;
  for (const std::int64_t number : Integers(name)) numbers.push_back(static_cast<double>(number));
  return numbers;
}

std::size_t Step::Axis(std::int64_t axis, std::size_t rank) const {
  const auto all = static_cast<std::int64_t>(rank);
  const std::int64_t from_front = axis < 0 ? axis + all : axis;
  if (from_front >= 0 && from_front < all) return static_cast<std::size_t>(from_front);
  inference_.Fail(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  return 0;
}

Dim Step::DimOf(const IntegerOrValue& number, NumberPlace place) const {
  if (number.value) {
    if (const auto& size = inference_.size(*number.value)) return *size;
    inference_.Fail("expected sizes that are known, found one that depends on data");
    return inference_.Fixed(1);
  }
  if (number.number > kMostElements) inference_.Fail("a size that no tensor has");
  const Dim dim = inference_.New(std::min(number.number, kMostElements));
  inference_.TieToSize(place, dim);
  return dim;
}

std::optional<Dim> Step::SizeOf(const Argument& argument) const {
  const NumberPlace place{.argument = PositionOf(argument)};
  if (const auto* number = std::get_if<std::int64_t>(&argument.value))
    return *number < 0 ? std::nullopt : std::optional(DimOf({.number = *number}, place));
  if (const auto* value = std::get_if<ValueId>(&argument.value))
    return DimOf({.value = *value}, place);
  return std::nullopt;
}

Dim Step::Size(std::string_view name) const {
  if (const Argument* argument = Find(node_, name))
    if (const auto size = SizeOf(*argument)) return *size;
  inference_.Fail(fmt::format("expected a size as '{}'", name));
  return inference_.Fixed(1);
}

std::vector<std::optional<Dim>> Step::Sizes(std::string_view name) const {
  std::vector<std::optional<Dim>> sizes;
  const Argument* argument = Find(node_, name);
  if (argument == nullptr) return sizes;
  IntegerList list;
  if (const auto* given = std::get_if<IntegerList>(&argument->value)) {
    list = *given;
  } else if (const auto* one = std::get_if<std::int64_t>(&argument->value)) {
    list = {{.number = *one}};
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].value && list[i].number == -1) {
      sizes.emplace_back();
    } else if (!list[i].value && list[i].number < 0) {
      inference_.Fail(
          fmt::format("'{}': expected sizes of at least 0, found {}", name, list[i].number));
      sizes.emplace_back();
    } else {
      sizes.emplace_back(DimOf(list[i], {.argument = PositionOf(*argument), .element = i}));
    }
  }
  return sizes;
}

std::vector<Dim> Step::Operands() const {
  std::vector<Dim> operands;
  for (const Argument& argument : node_.arguments) {
    if (const auto size = SizeOf(argument)) {
      operands.push_back(*size);
    } else {
      inference_.Fail("expected sizes as operands");
    }
  }
  if (operands.empty()) inference_.Fail("expected sizes as operands");
  return operands;
}

std::optional<NumberPlace> Step::PlaceOf(std::string_view name, std::size_t element) const {
  const Argument* argument = Find(node_, name);
  if (argument == nullptr || std::holds_alternative<ValueId>(argument->value)) return std::nullopt;
  if (const auto* list = std::get_if<IntegerList>(&argument->value);
      list != nullptr && (element >= list->size() || (*list)[element].value))
    return std::nullopt;
  return NumberPlace{.argument = PositionOf(*argument), .element = element};
}

std::optional<ValueId> Step::Output(std::size_t output) const {
  return output < node_.outputs.size() ? node_.outputs[output] : std::nullopt;
}

}  // namespace sluice::model
