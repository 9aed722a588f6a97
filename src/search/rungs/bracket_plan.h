#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/stopper.h"

namespace sluice {

// One bracket of synchronous successive halving, before any trial is in it.
struct BracketPlan {
  std::vector<Work> levels;  // where trials are judged, rising, all below the full budget
  std::int64_t trials = 1;
};

// The brackets that a stopper opens one after the other. After the last it begins again with the
// first. All arithmetic is in integers.
//
// sha has one bracket. Its levels are min_budget * eta^k below max_budget. It has spec.bracket
// trials, or by default eta^(number of levels), so that one of them reaches the full budget.
//
// hyperband has s_max + 1 brackets, s = s_max, ..., 0, where s_max is the largest s with
// min_budget * eta^s <= max_budget. Bracket s has ceil((s_max + 1) * eta^s / (s + 1)) trials,
// judged at max_budget / eta^s, ..., max_budget / eta, each rounded down. So the full budget is
// always max_budget itself, no level lies below min_budget, and the brackets share their levels.
std::vector<BracketPlan> PlanBrackets(const StopperSpec& spec);

// How many trials go on from each level of a bracket: max(1, floor(trials / eta^(k + 1))).
std::vector<std::int64_t> PlacesOf(std::int64_t trials, std::int64_t eta, std::size_t levels);

// The work that a trial does on average, if one in eta trials goes on from each rung. The full
// budget for a stopper without rungs.
double TypicalWork(const StopperSpec& spec);

}  // namespace sluice
