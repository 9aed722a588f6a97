#include "train/aliases.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

namespace sluice::train {
namespace {

// They may return an operand, or views of it, although their schemas do not say so.
constexpr std::string_view kSilentViews[] = {
    "aten::alpha_dropout",
    "aten::atleast_1d",
    "aten::atleast_2d",
    "aten::atleast_3d",
    "aten::broadcast_tensors",
    "aten::dropout",
    "aten::einsum",
    "aten::feature_alpha_dropout",
    "aten::feature_dropout",
    "aten::meshgrid",
    "aten::pad",
    "aten::resolve_conj",
    "aten::resolve_neg",
    "aten::sum_to_size",
    "aten::type_as",
};

template <typename Call>
void ForEachIn(const model::Argument& argument, Call call) {
  model::Node one;
  one.arguments.push_back(argument);
  model::ForEachOperand(one, call);
}

// Also what is in a list: its elements have alias sets of their own.
bool ShareSets(const c10::AliasInfo& result, const c10::AliasInfo& argument) {
  for (const auto& set : result.afterSets())
    if (argument.beforeSets().contains(set)) return true;
  const auto with = [&](const c10::AliasInfo& element) { return ShareSets(element, argument); };
  const auto of = [&](const c10::AliasInfo& element) { return ShareSets(result, element); };
  return std::ranges::any_of(result.containedTypes(), with) ||
         std::ranges::any_of(argument.containedTypes(), of);
}

bool ResultMayShare(const c10::Argument& result, const c10::Argument& argument) {
  return result.alias_info() && argument.alias_info() &&
         ShareSets(*result.alias_info(), *argument.alias_info());
}

}  // namespace

Aliases::Aliases(const model::Graph& graph)
    : set_(graph.values.size()), last_use_(graph.values.size(), 0) {
  std::iota(set_.begin(), set_.end(), std::size_t{0});
  for (std::size_t node = 0; node < graph.nodes.size(); ++node)
    model::ForEachOperand(graph.nodes[node],
                          [&](model::ValueId value) { last_use_[model::Index(value)] = node; });
  const std::size_t end = graph.nodes.size();
  for (const model::ValueId value : graph.outputs) last_use_[model::Index(value)] = end;
  for (const model::Parameter& parameter : graph.parameters)
    last_use_[model::Index(parameter.value)] = end;
}

void Aliases::Add(const model::Node& node, const c10::FunctionSchema& schema) {
  const bool silent = std::ranges::find(kSilentViews, schema.name()) != std::end(kSilentViews);
  for (const model::Argument& each : node.arguments) {
    const auto place = schema.argumentIndexWithName(each.name);
    if (!place) continue;
    const c10::Argument& argument = schema.arguments()[*place];
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i]) continue;
      const c10::Argument& result =
          schema.returns()[node.returns_list ? 0 : std::min(i, schema.returns().size() - 1)];
      if (silent || ResultMayShare(result, argument))
        ForEachIn(each, [&](model::ValueId operand) { Join(*node.outputs[i], operand); });
    }
  }
}

std::vector<model::ValueId> Aliases::SeenLater(model::ValueId written, std::size_t node) const {
  std::vector<model::ValueId> seen;
  for (std::size_t each = 0; each < set_.size(); ++each) {
    const model::ValueId value{static_cast<std::uint32_t>(each)};
    if (MayShare(value, written) && last_use_[each] > node) seen.push_back(value);
  }
  return seen;
}

std::size_t Aliases::Root(model::ValueId value) const {
  std::size_t at = model::Index(value);
  while (set_[at] != at) at = set_[at] = set_[set_[at]];
  return at;
}

}  // namespace sluice::train
