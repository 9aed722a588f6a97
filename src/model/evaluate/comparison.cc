#include "model/evaluate/comparison.h"

#include <fmt/format.h>

namespace sluice::model {

std::string ComparisonText(const Comparison& comparison) {
  switch (comparison.verdict) {
    case Comparison::Verdict::kEqual: return "equal";
    case Comparison::Verdict::kDiffers: return fmt::format("differs: {}", comparison.about);
    case Comparison::Verdict::kUnchecked: return fmt::format("unchecked: {}", comparison.about);
  }
  return "";
}

EvaluationPlan PlanEvaluation(const Comparison& comparison, const std::vector<std::string>& notes,
                              bool as_trained) {
  using By = EvaluationPlan::By;
  using Verdict = Comparison::Verdict;
  if (as_trained) {
    return {.by = By::kTrainingGraph,
            .why =
                "evaluate: as_trained: the network is evaluated as in training, with dropout "
                "and with the statistics of the batch"};
  }
  const std::string first = notes.empty() ? "" : fmt::format("; {}", notes.front());
  if (comparison.verdict == Verdict::kDiffers) {
    return {.by = By::kNothing,
            .why = fmt::format(
                "the network does something else in evaluation, which its archive does not tell "
                "({}{}): its loss in training is the only metric. 'evaluate: as_trained' evaluates "
                "it as in training",
                ComparisonText(comparison), first)};
  }
  if (comparison.verdict == Verdict::kUnchecked) {
    return {.by = By::kEvaluationGraph,
            .why = fmt::format("whether the network is evaluated as module.eval() does was not "
                               "checked: {}{}",
                               comparison.about, first)};
  }
  return {};
}

}  // namespace sluice::model
