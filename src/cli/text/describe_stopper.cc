#include "cli/text/describe_stopper.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "search/rungs/bracket_plan.h"
#include "search/rungs/judged_at.h"
#include "search/samplers/explore.h"
#include "search/stoppers/perturbation.h"

namespace sluice {
namespace {

bool HasBrackets(const StopperSpec& stopper) {
  return stopper.name == "sha" || stopper.name == "hyperband";
}

// "9 trials to epoch 1, 3 to epoch 3, 1 to epoch 9; next bracket: 5 trials to epoch 3, ..."
std::string DescribeBrackets(const StopperSpec& stopper, const std::string& unit) {
  std::vector<std::string> parts;
  for (const BracketPlan& plan : PlanBrackets(stopper)) {
    std::vector<std::string> steps;
    std::vector<std::int64_t> trials = PlacesOf(plan.trials, stopper.eta, plan.levels.size());
    trials.insert(trials.begin(), plan.trials);
    for (std::size_t k = 0; k < trials.size(); ++k) {
      const std::string_view noun = k > 0 ? "" : trials[k] == 1 ? " trial" : " trials";
      steps.push_back(fmt::format("{}{} to {} {}", trials[k], noun, unit,
                                  k < plan.levels.size() ? plan.levels[k] : stopper.max_budget));
    }
    parts.push_back(Join(steps));
  }
  return Join(parts, "; next bracket: ");
}

}  // namespace

std::string DescribeStopper(const StudySpec& spec) {
  const StopperSpec& stopper = spec.stopper;
  const std::string& name = stopper.name;
  const std::string end = stopper.max_budget == kNoLimit
                              ? "until the program ends"
                              : fmt::format("to {} {}", spec.unit, stopper.max_budget);
  if (name == "none") return fmt::format("none: every trial runs {}", end);
  if (name == "median" || name == "percentile") {
    const double percentile = name == "median" ? 50 : stopper.percentile;
    return fmt::format(
        "{}: from {} {} on, and once {} trials are complete, stops a trial that is worse than the "
        "best {} % of complete trials were after the same work; others run {}",
        name, spec.unit, stopper.min_budget, stopper.startup, percentile, end);
  }
  if (name == "patience") {
    return fmt::format(
        "patience: from {0} {1} on, stops what has not improved by more than {2} for {3} {0}s; "
        "others run {4}",
        spec.unit, stopper.min_budget, stopper.min_delta, stopper.patience, end);
  }
  if (HasBrackets(stopper)) {
    return fmt::format("{}: in brackets: {}", name, DescribeBrackets(stopper, spec.unit));
  }
  if (IsPopulation(name)) {
    const Perturbation rule(stopper);
    if (rule.stages() == 0)
      return fmt::format("{}: no trial is judged; every trial runs {}", name, end);
    const bool together = name == "pbt";
    return fmt::format(
        "{}: every {} {}{}, up to {}, {}; forks of the best {} % take the place of the worst {} %, "
        "and change {}",
        name, Perturbation::IntervalOf(stopper), spec.unit,
        Perturbation::IntervalOf(stopper) == 1 ? "" : "s", stopper.max_budget,
        together ? "all trials are judged together"
                 : "a trial is judged by what the others last reported",
        stopper.quantile * 100, stopper.quantile * 100,
        Join(NamesInForks(spec.space, stopper.mutate).changed));
  }
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> levels;
  for (const Work level : JudgedAt(stopper)) levels.push_back(std::to_string(level));
  if (levels.size() > kMostShown) {
    levels.resize(kMostShown);
    levels.emplace_back("...");
  }
  return fmt::format(
      "{}: judged at {} {}; the best 1/{} go on{}", name, spec.unit, Join(levels), stopper.eta,
      stopper.max_budget == kMaxBudget ? "" : fmt::format(", up to {}", stopper.max_budget));
}

}  // namespace sluice
