#include "model/evaluate/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/evaluate/memory.h"
#include "model/evaluate/unneeded.h"

namespace sluice::model {
namespace {

// Their first result is their first operand if nothing is dropped, and they have no other.
constexpr std::string_view kDropouts[] = {"alpha_dropout", "dropout", "feature_alpha_dropout",
                                          "feature_dropout"};

// A flag that says whether a norm uses the statistics of the batch, although it may have others.
struct NormFlag {
  std::string_view op;
  std::string_view flag;
};
constexpr NormFlag kNormFlags[] = {
    {"_native_batch_norm_legit", "training"},
    {"batch_norm", "training"},
    {"instance_norm", "use_input_stats"},
    {"native_batch_norm", "training"},
};

constexpr std::string_view kRecurrent[] = {"gru", "lstm", "rnn_relu", "rnn_tanh"};

// Operators that draw numbers, and whose evaluation the graph does not tell. In the order of names.
constexpr std::string_view kDraws[] = {
    "bernoulli",    "binomial", "cauchy",     "exponential", "geometric", "log_normal",
    "multinomial",  "normal",   "poisson",    "rand",        "rand_like", "randint",
    "randint_like", "randn",    "randn_like", "random",      "randperm",  "uniform",
};

bool IsOneOf(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

std::string EvaluatedNode(const Node& node) {
  const std::string in = node.label.empty() ? "" : fmt::format(" in '{}'", Shown(node.label));
  return fmt::format("node '{}' ({}{})", Shown(node.name), Shown(node.op), in);
}

Argument* FindIn(Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.arguments, name, &Argument::name);
  return found == node.arguments.end() ? nullptr : &*found;
}

// The constant that an argument is, as a real number; `otherwise` if the argument is left out.
Result<double> ConstantOf(const Node& node, std::string_view name,
                          std::optional<double> otherwise) {
  const Argument* argument = Find(node, name);
  if (!argument && otherwise) return *otherwise;
  if (argument) {
    if (const auto* real = std::get_if<double>(&argument->value)) return *real;
    if (const auto* number = std::get_if<std::int64_t>(&argument->value))
      return static_cast<double>(*number);
    if (const auto* flag = std::get_if<bool>(&argument->value)) return *flag ? 1.0 : 0.0;
  }
  return InvalidArgument(fmt::format("{}: expected a constant as '{}', found {}",
                                     EvaluatedNode(node), name,
                                     argument ? "something that is computed" : "none"));
}

bool HasTensor(const Node& node, std::string_view name) {
  const Argument* argument = Find(node, name);
  return argument && std::holds_alternative<ValueId>(argument->value);
}

// Rewrites the nodes of a graph, one after the other.
class EvaluationRewriter {
 public:
  explicit EvaluationRewriter(const Graph& training) : graph_(training) {}

  Result<Graph> Rewrite() && {
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      ReplaceOperands(node);
      if (IsOneOf(OperatorOf(node), kDropouts)) {
        SLUICE_TRY(SkipDropout(node));
        continue;
      }
      SLUICE_TRY(RewriteNode(node));
      kept.push_back(std::move(node));
    }
    graph_.nodes = std::move(kept);
    for (ValueId& output : graph_.outputs) Replace(output);
    return std::move(graph_);
  }

 private:
  void Replace(ValueId& value) const {
    if (const auto found = becomes_.find(Index(value)); found != becomes_.end())
      value = found->second;
  }

  void ReplaceOperands(Node& node) const {
    for (Argument& argument : node.arguments) {
      if (auto* value = std::get_if<ValueId>(&argument.value)) Replace(*value);
      if (auto* values = std::get_if<std::vector<std::optional<ValueId>>>(&argument.value))
        for (auto& value : *values)
          if (value) Replace(*value);
    }
  }

  // As in PyTorch, the result is the operand itself, not a copy: a node that writes the result in
  // place writes the operand.
  Status SkipDropout(const Node& node) {
    const auto* value =
        node.arguments.empty() ? nullptr : std::get_if<ValueId>(&node.arguments.front().value);
    if (!value || node.outputs.size() > 1) {
      return InvalidArgument(fmt::format(
          "{}: expected a tensor to drop elements of, and one result", EvaluatedNode(node)));
    }
    if (!node.outputs.empty() && node.outputs.front())
      becomes_[Index(*node.outputs.front())] = *value;
    return {};
  }

  static Status RewriteNode(Node& node) {
    const std::string_view op = OperatorOf(node);
    if (op == "native_dropout") return Set(node, "train", false);
    if (op == "rrelu" || op == "rrelu_with_noise") return UseMeanSlope(node);
    if (IsOneOf(op, kRecurrent)) {
      SLUICE_TRY(Set(node, "train", false));
      return Set(node, "dropout", 0.0);
    }
    const auto* norm = std::ranges::find(kNormFlags, op, &NormFlag::op);
    if (norm != std::end(kNormFlags)) {
      // Without running statistics, evaluation uses those of the batch, too.
      const bool tracks = HasTensor(node, "running_mean") && HasTensor(node, "running_var");
      return tracks ? Set(node, norm->flag, false) : Status{};
    }
    // Attention, in its several forms.
    return Find(node, "dropout_p") ? Set(node, "dropout_p", 0.0) : Status{};
  }

  static Status Set(Node& node, std::string_view name, ArgumentValue value) {
    SLUICE_TRY(ConstantOf(node, name, std::nullopt));
    FindIn(node, name)->value = std::move(value);
    return {};
  }

  static Status UseMeanSlope(Node& node) {
    SLUICE_ASSIGN(const double lower, ConstantOf(node, "lower", 1.0 / 8));
    SLUICE_ASSIGN(const double upper, ConstantOf(node, "upper", 1.0 / 3));
    const Argument* self = Find(node, "self");
    if (!self || node.outputs.size() > 1)
      return InvalidArgument(
          fmt::format("{}: expected a tensor as 'self', and one result", EvaluatedNode(node)));
    const bool in_place = !WrittenInPlace(node).empty();
    node.op = in_place ? "aten.leaky_relu_.default" : "aten.leaky_relu.default";
    node.arguments = {*self, {.name = "negative_slope", .value = (lower + upper) / 2}};
    return {};
  }

  Graph graph_;
  std::map<std::size_t, ValueId> becomes_;  // results that are their operands in evaluation
};

// The parameter that a node writes. Empty if there is none.
std::string_view ParameterWrittenBy(const Node& node, const Graph& graph, const Memory& memory) {
  for (const ValueId value : WrittenInPlace(node))
    for (const Parameter& parameter : graph.parameters)
      if (memory.Of(parameter.value) == memory.Of(value)) return parameter.name;
  return {};
}

std::vector<std::string> NotesOn(const Graph& evaluation) {
  const Memory memory(evaluation);
  std::vector<std::string> notes;
  for (const Node& node : evaluation.nodes) {
    if (std::ranges::binary_search(kDraws, OperatorOf(node))) {
      notes.push_back(
          fmt::format("{} draws numbers in evaluation as in training", EvaluatedNode(node)));
    }
    const std::string_view written = ParameterWrittenBy(node, evaluation, memory);
    if (!written.empty()) {
      notes.push_back(
          fmt::format("{} writes '{}', which is read afterwards, in evaluation as in training",
                      EvaluatedNode(node), Shown(written)));
    }
  }
  return notes;
}

}  // namespace

static_assert(std::ranges::is_sorted(kDraws));

Result<Evaluation> MakeEvaluation(const Graph& training) {
  SLUICE_ASSIGN(Graph graph, EvaluationRewriter(training).Rewrite());
  RemoveUnneeded(graph);
  std::vector<std::string> notes = NotesOn(graph);
  return Evaluation{.graph = std::move(graph), .notes = std::move(notes)};
}

}  // namespace sluice::model
