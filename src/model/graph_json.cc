#include "model/graph_json.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace sluice::model {
namespace {

void AppendText(std::string& json, const std::string& text) {
  AppendJson(json, std::string_view(text));
}

std::string Texts(const std::vector<std::string>& texts) { return JsonList(texts, AppendText); }

std::string Numbers(const std::vector<std::int64_t>& numbers) {
  return JsonList(numbers,
                  [](std::string& json, std::int64_t number) { json += fmt::to_string(number); });
}

class ArgumentJson {
 public:
  explicit ArgumentJson(const Graph& graph) : graph_(graph) {}

  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(ValueId value) const { return Object("value", Name(value)); }
  std::string operator()(const std::vector<std::optional<ValueId>>& values) const {
    return Object("values", JsonList(values, [&](std::string& json, const auto& value) {
                    json += value ? Name(*value) : "null";
                  }));
  }
  std::string operator()(std::int64_t number) const {
    return Object("int", fmt::to_string(number));
  }
  std::string operator()(double number) const {
    std::string json;
    AppendJson(json, number);
    return Object("float", json);
  }
  std::string operator()(bool flag) const { return Object("bool", flag ? "true" : "false"); }
  std::string operator()(const std::string& text) const {
    return JsonWriter().Add("string", text).Take();
  }
  std::string operator()(const std::vector<IntegerOrValue>& numbers) const {
    return Object("ints", JsonList(numbers, [&](std::string& json, const IntegerOrValue& each) {
                    json += each.value ? Object("value", Name(*each.value))
                                       : fmt::to_string(each.number);
                  }));
  }
  std::string operator()(const std::vector<double>& numbers) const {
    return Object("floats", JsonList(numbers, [](std::string& json, double number) {
                    AppendJson(json, number);
                  }));
  }
  std::string operator()(const std::vector<bool>& flags) const {
    return Object("bools", JsonList(flags, [](std::string& json, bool flag) {
                    json += flag ? "true" : "false";
                  }));
  }
  std::string operator()(DType dtype) const {
    return JsonWriter().Add("dtype", model::Name(dtype)).Take();
  }
  std::string operator()(const Setting& setting) const {
    constexpr std::string_view kNames[] = {"device", "layout", "memory_format"};
    return JsonWriter().Add(kNames[static_cast<std::size_t>(setting.kind)], setting.text).Take();
  }

 private:
  static std::string Object(std::string_view name, std::string_view json) {
    return JsonWriter().AddJson(name, json).Take();
  }
  std::string Name(ValueId value) const {
    std::string json;
    AppendJson(json, std::string_view(graph_.value(value).name));
    return json;
  }

  const Graph& graph_;
};

std::string NodeJson(const Graph& graph, const Node& node, const Widths& widths) {
  const std::string arguments =
      JsonList(node.arguments, [&](std::string& json, const Argument& argument) {
        JsonWriter each;
        each.Add("name", argument.name).Add("keyword", argument.keyword);
        each.AddJson("value", std::visit(ArgumentJson(graph), argument.value));
        json += each.Take();
      });
  const std::string outputs =
      JsonList(node.outputs, [&](std::string& json, const std::optional<ValueId>& output) {
        if (!output) {
          json += "null";
          return;
        }
        const Value& value = graph.value(*output);
        JsonWriter each;
        each.Add("name", value.name);
        if (value.kind == Value::Kind::kTensor) {
          std::vector<std::string> formulas;
          for (const Dim dim : widths.inference().shape(*output))
            formulas.push_back(widths.Formula(dim));
          each.Add("dtype", Name(value.dtype)).AddJson("dims", Texts(formulas));
        }
        json += each.Take();
      });
  JsonWriter object;
  object.Add("name", node.name).Add("op", node.op).Add("module", node.label);
  object.AddJson("arguments", arguments).AddJson("outputs", outputs);
  object.Add("returns_list", node.returns_list);
  object.AddJson("region", node.region ? fmt::to_string(*node.region) : "null");
  return object.Take();
}

std::string ParameterJson(const Graph& graph, const Parameter& parameter, const Widths& widths,
                          const Law& law) {
  std::vector<std::string> formulas;
  for (const Dim dim : widths.inference().shape(parameter.value))
    formulas.push_back(widths.Formula(dim));
  JsonWriter object;
  object.Add("name", parameter.name).Add("value", graph.value(parameter.value).name);
  object.Add("role", Name(parameter.role)).Add("trainable", parameter.trainable);
  object.Add("persistent", parameter.persistent);
  object.AddOptional("tied_to", parameter.tied_to
                                    ? std::optional(graph.parameters[*parameter.tied_to].name)
                                    : std::nullopt);
  object.Add("dtype", Name(graph.value(parameter.value).dtype));
  object.AddJson("shape", Numbers(parameter.sizes)).AddJson("dims", Texts(formulas));
  object.Add("widths", widths.CountIn(parameter));
  JsonWriter its_law;
  its_law.Add("kind", Name(law.kind)).Add("mean", law.mean).Add("deviation", law.deviation);
  return object.AddJson("law", its_law.Take()).Take();
}

}  // namespace

std::string GraphJson(const Graph& graph, const Widths& widths, const std::vector<Law>& laws,
                      const std::vector<std::string>& notes) {
  JsonWriter object;
  object.Add("version", kGraphJsonVersion).Add("made_by", graph.made_by);
  object.AddJson("symbols", JsonList(graph.symbols, [](std::string& json, const Symbol& symbol) {
                   JsonWriter each;
                   each.Add("name", symbol.name).Add("min", symbol.least).Add("max", symbol.most);
                   json += each.Add("example", symbol.example).Take();
                 }));
  object.AddJson("inputs", JsonList(graph.inputs, [&](std::string& json, ValueId input) {
                   const Value& value = graph.value(input);
                   std::vector<std::string> sizes;
                   for (const Size& size : value.sizes) sizes.push_back(SizeText(size));
                   JsonWriter each;
                   each.Add("name", value.name).Add("dtype", Name(value.dtype));
                   json += each.AddJson("shape", Texts(sizes)).Take();
                 }));
  object.AddJson("outputs", JsonList(graph.outputs, [&](std::string& json, ValueId output) {
                   AppendJson(json, std::string_view(graph.value(output).name));
                 }));
  object.AddJson("widths",
                 JsonList(widths.classes(), [](std::string& json, const WidthClass& width) {
                   JsonWriter each;
                   each.Add("name", width.name).Add("size", width.size);
                   each.Add("kept", width.kept);
                   each.Add("parameter", width.first.parameter).Add("axis", width.first.axis);
                   json += each.Take();
                 }));
  std::vector<std::string> all_notes = widths.notes();
  all_notes.insert(all_notes.end(), notes.begin(), notes.end());
  object.AddJson("notes", Texts(all_notes));
  std::size_t next = 0;
  object.AddJson("parameters",
                 JsonList(graph.parameters, [&](std::string& json, const Parameter& parameter) {
                   json += ParameterJson(graph, parameter, widths, laws[next++]);
                 }));
  object.AddJson(
      "regions", JsonList(graph.regions, [](std::string& json, const Region& region) {
        JsonWriter each;
        each.Add("no_grad", region.no_grad).Add("autocast_device", region.autocast_device);
        json += each.Add("autocast_enabled", region.autocast_enabled).Take();
      }));
  object.AddJson("nodes", JsonList(graph.nodes, [&](std::string& json, const Node& node) {
                   json += NodeJson(graph, node, widths);
                 }));
  return object.Take();
}

}  // namespace sluice::model
