#pragma once

#include <vector>

#include "search/stopper.h"

namespace sluice {

// The work at which a stopper judges trials below the full budget, rising; nothing for those that
// judge at every report, or at none.
std::vector<Work> JudgedAt(const StopperSpec& stopper);

// The work at which a model compares trials, rising: where they are judged, or else at the rungs of their budget, and at
// the full budget. Nothing without a budget.
std::vector<Work> ComparedAt(const StopperSpec& stopper);

}  // namespace sluice
