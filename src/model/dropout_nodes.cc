#include "model/dropout_nodes.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace sluice::model {
namespace {

// The names of the arguments that decide what is dropped.
struct DropoutForm {
  std::string_view op;
  std::string_view rate;
  std::string_view train;   // empty: there is none
  std::string_view layers;  // the output of the last layer is not dropped; empty: not of layers
};
constexpr DropoutForm kDropoutForms[] = {
    {"alpha_dropout", "p", "train", ""},
    {"dropout", "p", "train", ""},
    {"feature_alpha_dropout", "p", "train", ""},
    {"feature_dropout", "p", "train", ""},
    {"gru", "dropout", "train", "num_layers"},
    {"lstm", "dropout", "train", "num_layers"},
    {"rnn_relu", "dropout", "train", "num_layers"},
    {"rnn_tanh", "dropout", "train", "num_layers"},
    {"scaled_dot_product_attention", "dropout_p", "", ""},
};

std::optional<double> NumberOf(const Node& node, std::string_view name) {
  const Argument* argument = Find(node, name);
  if (!argument) return std::nullopt;
  if (const auto* number = std::get_if<double>(&argument->value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&argument->value))
    return static_cast<double>(*number);
  if (const auto* flag = std::get_if<bool>(&argument->value)) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<double> RateOf(const Node& node) {
  if (!node.op.starts_with("aten.")) return std::nullopt;
  const auto* form = std::ranges::find(kDropoutForms, OperatorOf(node), &DropoutForm::op);
  if (form == std::end(kDropoutForms)) return std::nullopt;
  const std::optional<double> rate = NumberOf(node, form->rate);
  if (!rate) return std::nullopt;
  if (!form->train.empty() && NumberOf(node, form->train) != 1) return std::nullopt;
  if (!form->layers.empty() && NumberOf(node, form->layers).value_or(1) < 2) return std::nullopt;
  const bool always = !form->train.empty() && form->layers.empty();
  return always || *rate > 0 ? rate : std::nullopt;
}

}  // namespace

std::vector<DropoutNode> DropoutNodes(const Graph& graph) {
  std::vector<DropoutNode> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto rate = RateOf(graph.nodes[i]))
      found.push_back({NodeId{static_cast<std::uint32_t>(i)}, graph.nodes[i].label, *rate});
  return found;
}

bool LiesIn(std::string_view module, std::string_view path) {
  if (path.empty()) return true;
  return module.starts_with(path) && (module.size() == path.size() || module[path.size()] == '.');
}

const std::pair<const std::string, double>* RateFor(std::string_view module,
                                                    const std::map<std::string, double>& rates) {
  const std::pair<const std::string, double>* longest = nullptr;
  for (const auto& each : rates)
    if (LiesIn(module, each.first) && (!longest || each.first.size() > longest->first.size()))
      longest = &each;
  return longest;
}

}  // namespace sluice::model
