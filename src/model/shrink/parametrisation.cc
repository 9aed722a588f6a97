#include "model/shrink/parametrisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"

// The rules. m_in and m_out are the ratios of the sizes of a tensor to its original sizes: m_in
// along the axes that products are summed up over, m_out along the other axes. If all sizes are
// divided by S, both ratios are 1/S.
//
//   mup       Activations and their changes stay as large as in the original, whatever the width
//             ("Tensor Programs V"). The original is the base: at S = 1 nothing changes. The weight
//             of an output map is multiplied by S where it is used. A readout begins at 0 in both
//             networks, unless keep_readout is set. An output map that other products follow (a
//             router) is drawn so that its output begins as large as in the original.
//   spectral  The same limit, from norms of whole matrices ("A Spectral Condition for Feature
//             Learning"). It differs from mup for hidden matrices with m_out < m_in: their standard
//             deviation is also multiplied by sqrt(m_out / m_in).
//   standard  No rule, for comparison: learning rates stay as given, standard deviations follow
//             1/sqrt(fan in). Hyperparameters that are found with it do not carry over.
//
// The steps of Adam do not depend on how large gradients are, as long as Adam's eps is small
// compared with the gradients. Gradients grow by S, so eps grows by S. Weight decay acts through
// the learning rate (lr * decay): "scaled" keeps that product for every tensor, "same" leaves the
// decay as given.

namespace sluice::model {
namespace {

using RuleFunction = void (*)(ParameterPlan&);

void Mup(ParameterPlan& plan) {
  switch (plan.kind) {
    case ParameterKind::kHidden:
      plan.law.deviation /= std::sqrt(plan.in_ratio);
      plan.sgd_lr = plan.out_ratio / plan.in_ratio;
      plan.adam_lr = 1 / plan.in_ratio;
      plan.adam_eps = 1 / plan.out_ratio;
      break;
    case ParameterKind::kInput:
      plan.sgd_lr = plan.out_ratio;
      plan.adam_eps = 1 / plan.out_ratio;
      break;
    case ParameterKind::kOutput:
      plan.sgd_lr = plan.in_ratio;
      plan.adam_eps = 1 / plan.in_ratio;
      break;
    case ParameterKind::kScalar: break;
  }
}

void Spectral(ParameterPlan& plan) {
  Mup(plan);
  if (plan.kind != ParameterKind::kHidden) return;
  plan.law.deviation *= std::min(1.0, std::sqrt(plan.out_ratio / plan.in_ratio));
}

void Standard(ParameterPlan& plan) { plan.law.deviation /= std::sqrt(plan.in_ratio); }

struct NamedRule {
  std::string name;
  RuleFunction apply;
};

const std::vector<NamedRule>& Rules() {
  static const auto& rules =
      *new std::vector<NamedRule>{{"mup", Mup}, {"spectral", Spectral}, {"standard", Standard}};
  return rules;
}

// The axes of a parameter along which at least one of its uses sums up products.
struct Contracted {
  std::vector<bool> axes;
  bool is_matrix = false;  // some use sums up products
};

std::vector<Contracted> ContractedAxes(const Graph& graph, const Inference& inference) {
  std::vector<Contracted> all(graph.parameters.size());
  for (std::size_t p = 0; p < all.size(); ++p) all[p].axes.resize(graph.parameters[p].sizes.size());
  // A table that is also a readout is drawn and trained as a table.
  std::vector<bool> is_table(graph.parameters.size());
  for (const Use& use : inference.uses())
    is_table[use.parameter] = is_table[use.parameter] || use.lookup;
  for (const Use& use : inference.uses()) {
    if (is_table[use.parameter]) continue;
    all[use.parameter].is_matrix = true;
    for (std::size_t i = 0; i < use.contracted.size(); ++i)
      all[use.parameter].axes[i] = all[use.parameter].axes[i] || use.contracted[i];
  }
  for (std::size_t p = 0; p < all.size(); ++p)
    if (const auto& tied = graph.parameters[p].tied_to) all[p] = all[*tied];
  return all;
}

ParameterKind KindOf(bool in, bool out) {
  if (in && out) return ParameterKind::kHidden;
  if (in) return ParameterKind::kOutput;
  return out ? ParameterKind::kInput : ParameterKind::kScalar;
}

// For each node: whether its output, or a value computed from its output, is later multiplied with
// parameters or activations.
std::vector<bool> NodesInTheMiddle(const Graph& graph, const Inference& inference) {
  std::vector<bool> multiplies(graph.nodes.size());
  for (const Use& use : inference.uses()) multiplies[Index(use.node)] = true;
  for (const Contraction& contraction : inference.contractions())
    multiplies[Index(contraction.node)] = true;
  // Whether this value leads to a node that multiplies.
  std::vector<bool> leads(graph.values.size());
  std::vector<bool> middle(graph.nodes.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const auto& output : node.outputs)
      if (output && leads[Index(*output)]) middle[n] = true;
    if (!middle[n] && !multiplies[n]) continue;
    ForEachOperand(node, [&](ValueId value) { leads[Index(value)] = true; });
  }
  return middle;
}

class Planner {
 public:
  Planner(const Graph& graph, const Widths& widths, const Shrunken& narrow)
      : graph_(graph),
        widths_(widths),
        narrow_(narrow),
        axes_(ContractedAxes(graph, widths.inference())),
        middle_(NodesInTheMiddle(graph, widths.inference())) {}

  double RatioOf(Dim dim) const {
    return static_cast<double>(narrow_.SizeOf(widths_, dim)) /
           static_cast<double>(std::max<std::int64_t>(widths_.dims().SizeOf(dim), 1));
  }

  // Whether the dimension changes with the width of the network. A kept class counts if it had to
  // shrink after all.
  bool Changes(Dim dim) const {
    return widths_.IsWidth(dim) || narrow_.SizeOf(widths_, dim) != widths_.dims().SizeOf(dim);
  }
  bool IsInTheMiddle(NodeId node) const { return middle_[Index(node)]; }
  // Whether some use of the parameter is followed by other products.
  bool IsInTheMiddle(std::size_t p) const {
    const std::size_t root = graph_.parameters[p].tied_to.value_or(static_cast<std::uint32_t>(p));
    return std::ranges::any_of(widths_.inference().uses(), [&](const Use& use) {
      return use.parameter == root && middle_[Index(use.node)];
    });
  }

  ParameterPlan PlanOf(std::size_t p, const Law& law) const {
    ParameterPlan plan;
    plan.law = law;
    const Shape& shape = widths_.inference().shape(graph_.parameters[p].value);
    bool in = false;
    bool out = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!Changes(shape[i])) continue;
      (axes_[p].axes[i] ? in : out) = true;
      (axes_[p].axes[i] ? plan.in_ratio : plan.out_ratio) *= RatioOf(shape[i]);
    }
    plan.kind = KindOf(in, out);
    return plan;
  }

 private:
  const Graph& graph_;
  const Widths& widths_;
  const Shrunken& narrow_;
  std::vector<Contracted> axes_;
  std::vector<bool> middle_;  // by node
};

std::vector<std::string> NamesOf(const std::vector<NamedRule>& rules) {
  std::vector<std::string> names;
  for (const NamedRule& rule : rules) names.push_back(rule.name);
  return names;
}

Status CheckName(std::string_view what, const std::string& name,
                 std::span<const std::string> names) {
  if (std::ranges::find(names, name) != names.end()) return {};
  return InvalidArgument(fmt::format("{}: expected one of {}, found '{}'{}", what, Join(names),
                                     Shown(name), DidYouMean(name, names)));
}

// The scale of the logits of an attention after the size d of a head has changed: q*k / sqrt(d)
// becomes q*k * sqrt(d_original) / d. A scale that the node states is multiplied by d_original / d.
// Empty if the operator has no argument for a scale.
std::optional<double> ScaleOf(const Node& node, double size, double narrow) {
  if (!node.op.starts_with("aten.scaled_dot_product_attention")) return std::nullopt;
  const Argument* scale = Find(node, "scale");
  const auto* given = scale == nullptr ? nullptr : std::get_if<double>(&scale->value);
  return (given == nullptr ? 1 / std::sqrt(size) : *given) * size / narrow;
}

void Replace(Node& node, ValueId from, ValueId to) {
  for (Argument& argument : node.arguments) {
    if (auto* value = std::get_if<ValueId>(&argument.value); value != nullptr && *value == from)
      *value = to;
    if (auto* values = std::get_if<std::vector<std::optional<ValueId>>>(&argument.value))
      std::ranges::replace(*values, std::optional(from), std::optional(to));
  }
}

}  // namespace

std::string_view Name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kHidden: return "hidden";
    case ParameterKind::kInput: return "input";
    case ParameterKind::kOutput: return "output";
    case ParameterKind::kScalar: return "scalar";
  }
  return "";
}

std::span<const std::string> ParametrisationRules() {
  static const auto& names = *new std::vector<std::string>(NamesOf(Rules()));
  return names;
}

std::span<const std::string> DecayRules() {
  static const auto& names = *new std::vector<std::string>{"scaled", "same"};
  return names;
}

Result<Parametrisation> Parametrise(const Graph& graph, const Widths& widths,
                                    const Shrunken& narrow, const std::vector<Law>& laws,
                                    const ParametrisationOptions& options) {
  SLUICE_TRY(CheckName("--rule", options.rule, ParametrisationRules()));
  SLUICE_TRY(CheckName("--decay", options.decay, DecayRules()));
  const bool is_standard = options.rule == "standard";
  const auto rule = std::ranges::find(Rules(), options.rule, &NamedRule::name);
  const Planner planner(graph, widths, narrow);
  Parametrisation made;
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    ParameterPlan plan = planner.PlanOf(p, p < laws.size() ? laws[p] : Law());
    rule->apply(plan);
    if (plan.kind == ParameterKind::kOutput && !is_standard) {
      if (planner.IsInTheMiddle(p)) {
        // Together with the multiplier below, this lets the output begin as large as in the
        // original.
        plan.law.deviation *= std::sqrt(plan.in_ratio);
      } else if (!options.keep_readout) {
        plan.zeroed = true;
        plan.law = {.kind = Law::Kind::kConstant, .mean = 0, .deviation = 0};
      }
    }
    if (options.decay == "scaled" && !is_standard) {
      plan.sgd_decay = 1 / plan.sgd_lr;
      plan.adamw_decay = 1 / plan.adam_lr;
    }
    made.parameters.push_back(std::move(plan));
  }
  if (is_standard) return made;
  for (const Use& use : widths.inference().uses()) {
    if (use.lookup) continue;
    // A use that sums up over a width, and has no width in its output, gets a multiplier.
    const Shape& shape = widths.inference().shape(graph.parameters[use.parameter].value);
    double ratio = 1;
    bool out = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!planner.Changes(shape[i])) continue;
      if (use.contracted[i]) ratio *= planner.RatioOf(shape[i]);
      out = out || !use.contracted[i];
    }
    // An operand may be made of several parameters. It is multiplied once.
    const bool known = std::ranges::any_of(made.multipliers, [&](const Multiplier& other) {
      return other.node == use.node && other.operand == use.operand;
    });
    if (out || ratio == 1 || known) continue;
    made.multipliers.push_back(
        {.node = use.node,
         .operand = use.operand,
         .argument = {},
         .factor = 1 / ratio,
         .why = fmt::format("{} '{}'", planner.IsInTheMiddle(use.node) ? "output map" : "readout",
                            graph.parameters[use.parameter].name)});
  }
  for (const Contraction& contraction : widths.inference().contractions()) {
    const double ratio = planner.RatioOf(contraction.dim);
    if (ratio == 1 || contraction.normalised) continue;
    const auto size = static_cast<double>(widths.dims().SizeOf(contraction.dim));
    const auto scale = ScaleOf(graph.nodes[Index(contraction.node)], size, size * ratio);
    made.multipliers.push_back({.node = contraction.node,
                                .operand = std::nullopt,
                                .argument = scale ? "scale" : "",
                                .factor = scale.value_or(1 / ratio),
                                .why = "activations meet over a narrower dimension"});
  }
  return made;
}

Graph Multiplied(const Graph& graph, std::span<const Multiplier> multipliers) {
  Graph made = graph;
  made.nodes.clear();
  const auto scaled = [&](ValueId from, const Node& like, double factor) {
    Value value = made.value(from);
    value.name = fmt::format("{}_scaled_{}", value.name, made.values.size());
    made.values.push_back(value);
    const ValueId to{static_cast<std::uint32_t>(made.values.size() - 1)};
    made.nodes.push_back(
        {.name = value.name,
         .op = "aten.mul.Tensor",
         .label = like.label,
         .arguments = {{.name = "self", .value = from}, {.name = "other", .value = factor}},
         .outputs = {to},
         .returns_list = false,
         .region = like.region});
    return to;
  };
  std::map<ValueId, ValueId> instead;  // the scaled value for each output that is multiplied
  const auto replaced = [&](ValueId value) {
    const auto found = instead.find(value);
    return found == instead.end() ? value : found->second;
  };
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    Node node = graph.nodes[n];
    for (const auto& [from, to] : instead) Replace(node, from, to);
    double after = 1;
    for (const Multiplier& multiplier : multipliers) {
      if (Index(multiplier.node) != n) continue;
      if (multiplier.operand) {
        const ValueId from = replaced(*multiplier.operand);
        Replace(node, from, scaled(from, node, multiplier.factor));
      } else if (multiplier.argument.empty()) {
        after *= multiplier.factor;
      } else {
        std::erase_if(node.arguments, [&](const Argument& argument) {
          return argument.name == multiplier.argument;
        });
        node.arguments.push_back(
            {.name = multiplier.argument, .value = multiplier.factor, .keyword = true});
      }
    }
    made.nodes.push_back(std::move(node));
    const Node& kept = made.nodes.back();
    if (after != 1 && kept.outputs.size() == 1 && kept.outputs[0]) {
      const ValueId from = *kept.outputs[0];
      const Node like = kept;
      instead[from] = scaled(from, like, after);
    }
  }
  for (ValueId& output : made.outputs) output = replaced(output);
  return made;
}

}  // namespace sluice::model
