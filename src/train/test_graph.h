#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graph.h"
#include "train/torch.h"
#include "train/value.h"

// What tests of the room build networks with, and compare them by.
namespace sluice::train {

// Writes a graph without checking it. Arguments are named by their places in the schema.
class GraphMaker {
 public:
  using Given = model::ArgumentValue;

  model::ValueId Input(std::string name = "x") {
    graph_.inputs.push_back(NewValue(std::move(name)));
    return graph_.inputs.back();
  }
  model::ValueId Parameter(std::string name, bool trainable = true) {
    const model::ValueId value = NewValue(name);
    graph_.parameters.push_back(
        {.name = std::move(name),
         .role = trainable ? model::Parameter::Role::kParameter : model::Parameter::Role::kBuffer,
         .value = value,
         .trainable = trainable});
    return value;
  }
  std::vector<model::ValueId> CallMany(const std::string& op, const std::vector<Given>& given,
                                       std::size_t outputs, bool returns_list = false) {
    model::Node node{.name = "node_" + std::to_string(graph_.nodes.size()),
                     .op = op,
                     .label = "part",
                     .arguments = {},
                     .outputs = {},
                     .returns_list = returns_list,
                     .region = std::nullopt};
    const std::vector<std::string> names = NamesOf(op, given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
      node.arguments.push_back({.name = names[i], .value = given[i]});
    std::vector<model::ValueId> made;
    for (std::size_t i = 0; i < outputs; ++i) {
      made.push_back(NewValue(node.name + "_" + std::to_string(i)));
      node.outputs.emplace_back(made.back());
    }
    graph_.nodes.push_back(std::move(node));
    return made;
  }
  model::ValueId Call(const std::string& op, const std::vector<Given>& given) {
    return CallMany(op, given, 1).front();
  }
  model::Graph Finish(std::vector<model::ValueId> outputs) {
    graph_.outputs = std::move(outputs);
    return graph_;
  }
  model::Graph& graph() { return graph_; }

 private:
  model::ValueId NewValue(std::string name) {
    graph_.values.push_back({.name = std::move(name)});
    return model::ValueId{static_cast<std::uint32_t>(graph_.values.size() - 1)};
  }
  static std::vector<std::string> NamesOf(const std::string& op, std::size_t count) {
    std::vector<std::string> names;
    const std::size_t dot = op.rfind('.');
    std::string overload = op.substr(dot + 1);
    if (overload == "default") overload.clear();
    if (op.starts_with("aten.")) {
      const auto found =
          c10::Dispatcher::singleton().findSchema({"aten::" + op.substr(5, dot - 5), overload});
      if (found)
        for (const c10::Argument& each : found->schema().arguments()) names.push_back(each.name());
    }
    while (names.size() < count) names.push_back("a" + std::to_string(names.size()));
    return names;
  }

  model::Graph graph_;
};

// ||a - b|| against ||b||, as far as rounding matters: at least sqrt(n) / 10.
inline double Difference(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? 0 : 1;
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return 1;
  if (a.numel() == 0) return 0;
  const auto wide = [](const at::Tensor& t) {
    return t.is_complex() ? at::view_as_real(t.detach()).to(at::kDouble)
                          : t.detach().to(at::kDouble);
  };
  const double distance = (wide(a) - wide(b)).norm().item().toDouble();
  const double size = wide(b).norm().item().toDouble();
  return distance / std::max(size, std::sqrt(static_cast<double>(b.numel())) / 10);
}

// Numbers that depend on the seed and the sizes alone.
inline at::Tensor Numbers(at::IntArrayRef sizes, std::uint64_t seed) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::randn(sizes, generator, at::dtype(at::kDouble));
}

}  // namespace sluice::train
