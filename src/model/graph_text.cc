#include "model/graph_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace sluice::model {
namespace {

// A parameter's name in its module. For any other value, its name in the graph.
std::string NameOf(const Graph& graph, ValueId value) {
  const auto known = std::ranges::find(graph.parameters, value, &Parameter::value);
  return known == graph.parameters.end() ? graph.value(value).name : known->name;
}

class ArgumentText {
 public:
  explicit ArgumentText(const Graph& graph) : graph_(graph) {}

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(ValueId value) const { return NameOf(graph_, value); }
  std::string operator()(const std::vector<std::optional<ValueId>>& values) const {
    return List(values, [&](const auto& each) { return each ? NameOf(graph_, *each) : "none"; });
  }
  std::string operator()(std::int64_t number) const { return fmt::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const std::string& text) const { return fmt::format("'{}'", text); }
  std::string operator()(const std::vector<IntegerOrValue>& numbers) const {
    return List(numbers, [&](const IntegerOrValue& each) {
      return each.value ? NameOf(graph_, *each.value) : fmt::to_string(each.number);
    });
  }
  std::string operator()(const std::vector<double>& numbers) const {
    return List(numbers, [](double number) { return fmt::format("{}", number); });
  }
  std::string operator()(const std::vector<bool>& flags) const {
    return List(flags, [](bool flag) { return std::string(flag ? "true" : "false"); });
  }
  std::string operator()(DType dtype) const { return std::string(Name(dtype)); }
  std::string operator()(const Setting& setting) const { return setting.text; }

 private:
  template <typename Items, typename Text>
  static std::string List(const Items& items, Text text) {
    std::vector<std::string> texts;
    for (const auto& item : items) texts.push_back(text(item));
    return "[" + Join(texts) + "]";
  }
  const Graph& graph_;
};

}  // namespace

std::string TensorText(const Graph& graph, ValueId id, const Widths& widths) {
  const Value& value = graph.value(id);
  if (value.kind != Value::Kind::kTensor) return "number";
  std::vector<std::string> sizes;
  const Shape& shape = widths.inference().shape(id);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool symbolic = i < value.sizes.size() && !value.sizes[i].symbol.empty();
    sizes.push_back(symbolic && !widths.HasClass(shape[i]) ? value.sizes[i].symbol
                                                           : widths.Formula(shape[i]));
  }
  return fmt::format("{}[{}]", Name(value.dtype), Join(sizes));
}

std::string NodeText(const Graph& graph, const Node& node, const Widths& widths) {
  std::vector<std::string> arguments;
  for (const Argument& argument : node.arguments) {
    const std::string text = std::visit(ArgumentText(graph), argument.value);
    const bool is_value = std::holds_alternative<ValueId>(argument.value);
    const bool named =
        argument.keyword || (!is_value && !argument.name.empty() && !arguments.empty());
    arguments.push_back(named ? fmt::format("{}={}", argument.name, text) : text);
  }
  std::vector<std::string> names;
  std::vector<std::string> shapes;
  for (const auto& output : node.outputs) {
    names.push_back(output ? graph.value(*output).name : "none");
    if (output) shapes.push_back(TensorText(graph, *output, widths));
  }
  if (names.empty()) return fmt::format("{}({})", node.op, Join(arguments));
  return fmt::format("{} = {}({}) -> {}", Join(names), node.op, Join(arguments), Join(shapes));
}

}  // namespace sluice::model
