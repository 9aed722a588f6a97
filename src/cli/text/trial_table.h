#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/view/terminal.h"
#include "ledger/reader.h"

namespace sluice {

// Trials with a column for each parameter that any of them has.
std::string TrialTable(const StudyInfo& study, const std::vector<TrialInfo>& trials,
                       const Terminal& terminal, Time now);

}  // namespace sluice
