#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/view/terminal.h"
#include "ledger/reader.h"

namespace sluice {

// A table of trials, with a column for each parameter that at least one of the trials has.
std::string TrialTable(const StudyInfo& study, const std::vector<TrialInfo>& trials,
                       const Terminal& terminal, Time now);

}  // namespace sluice
