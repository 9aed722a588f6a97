#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/stopper.h"

namespace sluice {

// One bracket of synchronous successive halving, before anyone is in it.
struct BracketPlan {
  std::vector<Work> levels;  // where trials are judged, rising, all below the full budget
  std::int64_t trials = 1;
};

// The brackets that a stopper opens in turn, beginning again after the last. All in integers.
//
// sha has one: the levels min_budget * eta^k below max_budget, and spec.bracket trials, or eta^(number
// of levels), so that one of them reaches the full budget.
//
// hyperband has s_max + 1 of them, s = s_max, ..., 0, where s_max is the largest s with min_budget *
// eta^s <= max_budget: ceil((s_max + 1) * eta^s / (s + 1)) trials, judged at max_budget / eta^s, ...,
// max_budget / eta, each rounded down. So the full budget is always max_budget itself, no level lies
// below min_budget, and brackets have their levels in common.
std::vector<BracketPlan> PlanBrackets(const StopperSpec& spec);

// How many trials go on from each level of a bracket: max(1, floor(trials / eta^(k + 1))).
std::vector<std::int64_t> PlacesOf(std::int64_t trials, std::int64_t eta, std::size_t levels);

// How much work one of its trials does on average: of those that are judged at rungs only one in eta goes on from each.
// The full budget where a stopper has no rungs.
double TypicalWork(const StopperSpec& spec);

}  // namespace sluice
