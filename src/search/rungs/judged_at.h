#pragma once

#include <vector>

#include "search/stopper.h"

namespace sluice {

// The work at which a stopper judges trials below the full budget, rising. Empty for a stopper that
// judges at every report, or never.
std::vector<Work> JudgedAt(const StopperSpec& stopper);

// The work at which a model compares trials, rising. It is the work at which the stopper judges
// them (or the rungs of the budget, if JudgedAt is empty), and the full budget. Empty without a
// full budget.
std::vector<Work> ComparedAt(const StopperSpec& stopper);

}  // namespace sluice
