#pragma once

#include <vector>

#include "search/stopper.h"

namespace sluice {

// The work at which a stopper judges trials below the full budget, rising. Nothing for a stopper
// that judges at every report, or never.
std::vector<Work> JudgedAt(const StopperSpec& stopper);

// The work at which a model compares trials, rising: where the stopper judges them, or else at the
// rungs of the budget; and the full budget. Nothing without a budget.
std::vector<Work> ComparedAt(const StopperSpec& stopper);

}  // namespace sluice
