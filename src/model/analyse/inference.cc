#include "model/analyse/inference.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/analyse/step.h"

namespace sluice::model {

void Inference::AddParameters(const Graph& graph) {
  for (const Parameter& parameter : graph.parameters) {
    Shape& shape = shapes_[Index(parameter.value)];
    if (parameter.tied_to) {
      shape = shapes_[Index(graph.parameters[*parameter.tied_to].value)];
      continue;
    }
    for (const std::int64_t size : parameter.sizes) shape.push_back(dims_.New(size));
  }
}

void Inference::AddInputs(const Graph& graph, const std::map<std::string, std::int64_t>& symbols) {
  std::map<std::string, Dim> known;
  for (const ValueId input : graph.inputs) {
    from_input_[Index(input)] = true;
    const Value& value = graph.value(input);
    for (const Size& size : value.sizes) {
      const auto given = symbols.find(size.symbol);
      const std::int64_t number = given == symbols.end() ? size.number : given->second;
      const std::string reason = fmt::format("input '{}'", Shown(value.name));
      const auto fixed = [&] { return dims_.Fixed(number, reason); };
      shapes_[Index(input)].push_back(
          size.symbol.empty() ? fixed() : known.try_emplace(size.symbol, fixed()).first->second);
    }
  }
}

void Inference::FindUsed(const Graph& graph) {
  used_.resize(graph.values.size());
  for (const Node& node : graph.nodes)
    ForEachOperand(node, [&](ValueId value) { used_[Index(value)] = true; });
  for (const ValueId output : graph.outputs) used_[Index(output)] = true;
}

std::vector<std::int64_t> Inference::SizesOf(ValueId value) const {
  std::vector<std::int64_t> sizes;
  for (const Dim dim : shape(value)) sizes.push_back(dims_.SizeOf(dim));
  return sizes;
}

Result<Inference> Inference::Run(const Graph& graph,
                                 const std::map<std::string, std::int64_t>& symbols) {
  Inference inference(graph);
  inference.shapes_.resize(graph.values.size());
  inference.sizes_.resize(graph.values.size());
  inference.from_input_.resize(graph.values.size());
  inference.lengths_.resize(graph.values.size());
  inference.normalised_.resize(graph.values.size());
  inference.FindUsed(graph);
  inference.AddParameters(graph);
  inference.AddInputs(graph, symbols);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Step step(graph, NodeId(n), inference);
    const auto fail = [&](std::string_view message) {
      const std::string in = node.label.empty() ? "" : fmt::format(" in {}", Shown(node.label));
      return InvalidArgument(
          fmt::format("node {} ({}){}: {}", Shown(node.name), Shown(node.op), in, message));
    };
    const Rule rule = FindRule(step.op());
    if (rule == nullptr) {
      return fail(
          "there is no rule for this operator yet: docs/models.md tells how one is added, and what "
          "can be "
          "written instead");
    }
    rule(step);
    if (!step.ok()) return fail(step.error());
  }
  return inference;
}

}  // namespace sluice::model
