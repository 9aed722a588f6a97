#include "model/evaluate/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"

namespace sluice::model {
namespace {

constexpr std::size_t kTop = 5;

const Node* MakerOf(const Graph& graph, ValueId value) {
  const auto found = std::ranges::find_if(graph.nodes, [&](const Node& node) {
    return std::ranges::find(node.outputs, std::optional(value)) != node.outputs.end();
  });
  return found == graph.nodes.end() ? nullptr : &*found;
}

// The node that computed the loss. Nodes that only change how a number is seen are passed over.
const Node* LossNode(const Graph& graph) {
  const Node* node = graph.outputs.empty() ? nullptr : MakerOf(graph, graph.outputs.front());
  while (node) {
    const std::string_view op = OperatorOf(*node);
    const bool same = op == "alias" || op == "view" || op == "reshape" || op == "squeeze" ||
                      op == "contiguous" || op == "clone" || op == "to";
    const auto* self = same && !node->arguments.empty()
                           ? std::get_if<ValueId>(&node->arguments.front().value)
                           : nullptr;
    if (!self) return node;
    node = MakerOf(graph, *self);
  }
  return nullptr;
}

bool IsCrossEntropy(const Node& node) {
  const std::string_view op = OperatorOf(node);
  return op == "cross_entropy_loss" || op == "nll_loss_nd" || op == "nll_loss";
}

double NumberOr(const Node& node, std::string_view name, double otherwise) {
  const Argument* argument = Find(node, name);
  if (!argument) return otherwise;
  if (const auto* real = std::get_if<double>(&argument->value)) return *real;
  if (const auto* number = std::get_if<std::int64_t>(&argument->value))
    return static_cast<double>(*number);
  return otherwise;
}

bool IsGiven(const Node& node, std::string_view name) {
  const Argument* argument = Find(node, name);
  return argument && !std::holds_alternative<std::monostate>(argument->value);
}

// Targets of a cross entropy may be probabilities instead of classes.
std::optional<Scores> ScoresOfNode(const Graph& graph, const Node& node) {
  const Argument* self = Find(node, "self");
  const Argument* target = Find(node, "target");
  const auto* scores = self ? std::get_if<ValueId>(&self->value) : nullptr;
  const auto* classes = target ? std::get_if<ValueId>(&target->value) : nullptr;
  if (!scores || !classes || IsFloating(graph.value(*classes).dtype)) return std::nullopt;
  return Scores{.scores = *scores,
                .classes = *classes,
                .ignored_class = static_cast<std::int64_t>(NumberOr(node, "ignore_index", -100))};
}

// The size of a dimension, if it is known.
std::optional<std::int64_t> SizeAt(const Graph& graph, ValueId value, std::size_t dim) {
  const Size& size = graph.value(value).sizes[dim];
  return size.symbol.empty() && size.number >= 0 ? std::optional(size.number) : std::nullopt;
}

// Collects what exists and what does not.
class MetricsMaker {
 public:
  MetricsMaker(const Graph& graph, std::string_view loss, std::int64_t classes)
      : graph_(graph), loss_(loss), classes_(classes) {}

  Metrics Make() && {
    made_.names = {"loss"};
    if (loss_ == "returned") {
      OfReturnedLoss();
    } else if (loss_ == "cross_entropy" || loss_ == "nll") {
      made_.scores = Scores{.scores = graph_.outputs.front()};
      OfScores();
      made_.names.push_back("perplexity");
    } else if (loss_ == "binary_cross_entropy") {
      made_.scores = Scores{.scores = graph_.outputs.front()};
      made_.names.push_back("accuracy");
      Lacks("top5", "binary_cross_entropy has two classes");
      Lacks("perplexity", kNoCrossEntropy);
    } else {
      const std::string why = fmt::format("{} compares numbers, and no classes", loss_);
      for (const char* name : {"accuracy", "top5", "perplexity"}) Lacks(name, why);
    }
    return std::move(made_);
  }

 private:
  static constexpr std::string_view kNoCrossEntropy =
      "it is made of the mean cross entropy of several classes";

  void Lacks(std::string_view name, std::string_view why) {
    made_.missing.push_back({.name = std::string(name), .why = std::string(why)});
  }

  // The number of classes, if it is known. In a network that returns its loss, scores of one
  // element are [classes]; of several, dimension 1 counts classes. In others, the targets tell
  // which dimension that is (train/measure/losses.h); it is the last one if nothing is known of
  // the targets.
  std::optional<std::int64_t> Classes() const {
    const ValueId scores = made_.scores->scores;
    const std::size_t rank = graph_.value(scores).sizes.size();
    if (made_.scores->classes) return rank == 0 ? std::nullopt : SizeAt(graph_, scores, rank > 1);
    if (classes_ > 0) return classes_;
    return rank == 0 ? std::nullopt : SizeAt(graph_, scores, rank - 1);
  }

  void OfScores() {
    made_.names.push_back("accuracy");
    const auto classes = Classes();
    if (!classes) {
      Lacks("top5", "the number of classes depends on the input");
    } else if (*classes < static_cast<std::int64_t>(kTop)) {
      Lacks("top5", fmt::format("there are only {} classes", *classes));
    } else {
      made_.names.push_back("top5");
    }
  }

  void OfReturnedLoss() {
    const Node* node = LossNode(graph_);
    const std::string made_by =
        node ? fmt::format("the network returns its own loss, which node '{}' ({}) computes",
                           Shown(node->name), Shown(node->op))
             : "the network returns its own loss";
    if (!node || !IsCrossEntropy(*node)) {
      const std::string why = made_by + ": this is no cross entropy, so its scores are not known";
      for (const char* name : {"accuracy", "top5", "perplexity"}) Lacks(name, why);
      return;
    }
    made_.scores = ScoresOfNode(graph_, *node);
    if (made_.scores) {
      OfScores();
    } else {
      for (const char* name : {"accuracy", "top5"})
        Lacks(name, made_by + " from probabilities of classes instead of classes");
    }
    OfPerplexity(*node, made_by);
  }

  void OfPerplexity(const Node& node, const std::string& made_by) {
    if (NumberOr(node, "reduction", 1) != 1) {
      Lacks("perplexity", made_by + " as a sum, not as a mean");
    } else if (NumberOr(node, "label_smoothing", 0) != 0) {
      Lacks("perplexity", made_by + " with label smoothing");
    } else if (IsGiven(node, "weight")) {
      Lacks("perplexity", made_by + " with a weight for each class");
    } else {
      made_.names.push_back("perplexity");
    }
  }

  const Graph& graph_;
  std::string_view loss_;
  std::int64_t classes_;
  Metrics made_;
};

}  // namespace

Metrics MetricsOf(const Graph& evaluation, std::string_view loss, const EvaluationPlan& plan,
                  std::int64_t classes) {
  if (plan.by != EvaluationPlan::By::kNothing)
    return MetricsMaker(evaluation, loss, classes).Make();
  Metrics metrics;
  metrics.names = {"loss"};
  metrics.only_training_loss = true;
  for (const char* name : {"accuracy", "top5", "perplexity"})
    metrics.missing.push_back({.name = name, .why = plan.why});
  return metrics;
}

std::vector<std::string> MissingText(const Metrics& metrics) {
  std::vector<std::string> lines;
  for (auto first = metrics.missing.begin(); first != metrics.missing.end();) {
    const auto end = std::find_if(first, metrics.missing.end(), [&](const Metrics::Missing& each) {
      return each.why != first->why;
    });
    std::vector<std::string> names;
    for (auto each = first; each != end; ++each) names.push_back(each->name);
    lines.push_back(fmt::format("no {}: {}", fmt::join(names, ", "), first->why));
    first = end;
  }
  return lines;
}

}  // namespace sluice::model
