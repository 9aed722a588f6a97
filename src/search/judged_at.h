#pragma once

#include <vector>

#include "search/stopper.h"

namespace sluice {

// The work at which a stopper judges trials below the full budget, rising; nothing for those that
// judge at every report, or at none.
std::vector<Work> JudgedAt(const StopperSpec& stopper);

}  // namespace sluice
