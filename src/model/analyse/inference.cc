#include "model/analyse/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

std::unexpected<Error> FailedAt(const Node& node, std::string_view message) {
  const std::string in = node.label.empty() ? "" : fmt::format(" in {}", Shown(node.label));
  return InvalidArgument(
      fmt::format("node {} ({}){}: {}", Shown(node.name), Shown(node.op), in, message));
}

}  // namespace

Inference::Inference(const Graph& graph, const std::map<std::string, std::int64_t>& symbols)
    : shapes_(graph.values.size()),
      sizes_(graph.values.size()),
      from_input_(graph.values.size()),
      origins_(graph),
      used_(graph.values.size()),
      lengths_(graph.values.size()),
      normalised_(graph.values.size()) {
  FindUsed(graph);
  AddParameters(graph);
  AddInputs(graph, symbols);
}

void Inference::FindUsed(const Graph& graph) {
  for (const Node& node : graph.nodes)
    ForEachOperand(node, [&](ValueId value) { used_[Index(value)] = true; });
  for (const ValueId output : graph.outputs) used_[Index(output)] = true;
}

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

Result<Inference> Inference::Run(const Graph& graph,
                                 const std::map<std::string, std::int64_t>& symbols) {
  Inference inference(graph, symbols);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const Rule rule = FindRule(OperatorOf(node));
    if (rule == nullptr) {
      return FailedAt(node,
                      "there is no rule for this operator yet: docs/models.md tells how one is "
                      "added, and what can be written instead");
    }
    inference.Enter(graph, NodeId(n));
    rule(Step(graph, NodeId(n), inference), inference);
    if (!inference.ok()) return FailedAt(node, inference.current_.error);
  }
  inference.current_ = {};
  return inference;
}

void Inference::Enter(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[Index(id)];
  current_ = {.node = &node,
              .id = id,
              .reason = fmt::format("{} ({})", node.name, OperatorOf(node)),
              .error = {}};
  bool from_input = false;
  ForEachOperand(node, [&](ValueId value) { from_input |= IsFromInput(value); });
  for (const auto& output : node.outputs)
    if (output) from_input_[Index(*output)] = from_input;
}

void Inference::Fail(std::string_view message) {
  if (current_.error.empty()) current_.error = message;
}

std::vector<std::int64_t> Inference::SizesOf(ValueId value) const {
  std::vector<std::int64_t> sizes;
  for (const Dim dim : shape(value)) sizes.push_back(dims_.SizeOf(dim));
  return sizes;
}

bool Inference::IsLength(std::optional<ValueId> value) const {
  return value && lengths_[Index(*value)];
}

void Inference::Fix(Dim dim, std::string_view why) {
  dims_.Fix(dim, fmt::format("{}: {}", current_.reason, why));
}

Dim Inference::Unify(Dim a, Dim b) {
  if (const Status unified = dims_.Unify(a, b, current_.reason); !unified)
    Fail(unified.error().message);
  return a;
}

Shape Inference::Broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t more = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dim x = longer[more + i];
    const Dim y = shorter[i];
    if (SizeOf(y) == 1) continue;
    out[more + i] = SizeOf(x) == 1 ? y : Unify(x, y);
  }
  return out;
}

Shape Inference::Broadcast(std::span<const Shape> shapes) {
  Shape out;
  for (const Shape& shape : shapes) out = Broadcast(out, shape);
  return out;
}

void Inference::TieToSize(std::optional<NumberPlace> place, Dim dim, bool from_end) {
  if (!place) return;
  arguments_.push_back({.node = current_.id,
                        .argument = place->argument,
                        .element = place->element,
                        .dim = dim,
                        .from_end = from_end});
}

std::optional<ValueId> Inference::OnlyOutput() const {
  const auto& outputs = current_.node->outputs;
  return outputs.size() == 1 ? outputs.front() : std::nullopt;
}

void Inference::SetOutput(Shape shape) {
  std::vector<Shape> one;
  one.push_back(std::move(shape));
  SetOutputs(std::move(one));
}

void Inference::SetOutputs(std::vector<Shape> shapes) {
  if (!ok()) return;
  const auto& outputs = current_.node->outputs;
  if (shapes.size() != outputs.size()) {
    Fail(fmt::format("expected {} outputs, found {}", shapes.size(), outputs.size()));
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
    if (outputs[i]) shapes_[Index(*outputs[i])] = std::move(shapes[i]);
}

void Inference::SetOutputSize(Dim dim) {
  if (SizeOf(dim) > kMostElements) Fail("a size that no tensor has");
  if (const auto output = OnlyOutput()) sizes_[Index(*output)] = dim;
}

void Inference::MarkLength() {
  if (const auto output = OnlyOutput()) lengths_[Index(*output)] = true;
}

void Inference::MarkNormalised() {
  if (const auto output = OnlyOutput()) normalised_[Index(*output)] = true;
}

void Inference::Follow(std::optional<ValueId> from, std::size_t output, const Axes& axes) {
  const auto& outputs = current_.node->outputs;
  if (!from || output >= outputs.size() || !outputs[output]) return;
  if (!IsFromInput(*outputs[output])) origins_.Follow(*from, *outputs[output], axes);
}

void Inference::FollowAxisByAxis(std::optional<ValueId> from) {
  if (!from) return;
  Axes axes;
  for (std::size_t i = 0; i < shape(*from).size(); ++i) axes.push_back({i});
  const auto& outputs = current_.node->outputs;
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    Follow(from, output, axes);
    if (!outputs[output]) continue;
    const std::size_t to = Index(*outputs[output]);
    lengths_[to] = lengths_[Index(*from)];
    normalised_[to] = normalised_[Index(*from)];
  }
}

void Inference::FollowBroadcast(std::span<const ValueId> from, std::size_t rank) {
  for (const ValueId value : from) {
    const std::size_t own = shape(value).size();
    Axes axes(rank);
    for (std::size_t i = 0; i < rank; ++i)
      if (i + own >= rank) axes[i].push_back(i + own - rank);
    Follow(value, 0, axes);
  }
}

void Inference::FollowPicked(std::optional<ValueId> from, const Axes& axes) {
  const auto& outputs = current_.node->outputs;
  if (from && !IsFromInput(*from) && !outputs.empty() && outputs.front())
    origins_.Follow(*from, *outputs.front(), axes);
}

void Inference::AddUse(std::optional<ValueId> operand, const std::vector<std::size_t>& axes,
                       bool lookup) {
  if (operand) origins_.AddUses(current_.id, *operand, axes, lookup, uses_);
}

void Inference::AddContraction(Contraction contraction, std::span<const ValueId> operands) {
  contraction.node = current_.id;
  contraction.normalised = std::ranges::any_of(
      operands, [&](ValueId value) { return static_cast<bool>(normalised_[Index(value)]); });
  contractions_.push_back(std::move(contraction));
}

}  // namespace sluice::model
