#include "search/rungs/judged_at.h"

#include <set>

#include "search/rungs/bracket_plan.h"
#include "search/rungs/rungs.h"
#include "search/stoppers/perturbation.h"

namespace sluice {

namespace {

void AddRungs(const StopperSpec& stopper, std::set<Work>& levels) {
  const Rungs rungs(stopper);
  for (std::size_t k = 0; k < rungs.size(); ++k) levels.insert(rungs.Target(k));
}

}  // namespace

std::vector<Work> JudgedAt(const StopperSpec& stopper) {
  std::set<Work> levels;
  if (stopper.name == "sha" || stopper.name == "hyperband") {
    for (const BracketPlan& plan : PlanBrackets(stopper)) {
      levels.insert(plan.levels.begin(), plan.levels.end());
    }
  } else if (stopper.name.starts_with("asha")) {
    AddRungs(stopper, levels);
  } else if (stopper.name == "pbt" || stopper.name == "pbt-async") {
    const Perturbation rule(stopper);
    for (std::uint32_t k = 0; k < rule.stages(); ++k) levels.insert(rule.At(k));
  }
  return {levels.begin(), levels.end()};
}

std::vector<Work> ComparedAt(const StopperSpec& stopper) {
  if (stopper.max_budget == kNoLimit) return {};
  const std::vector<Work> judged = JudgedAt(stopper);
  std::set<Work> levels(judged.begin(), judged.end());
  if (levels.empty()) AddRungs(stopper, levels);
  levels.insert(stopper.max_budget);
  return {levels.begin(), levels.end()};
}

}  // namespace sluice
