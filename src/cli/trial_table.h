#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/terminal.h"
#include "ledger/reader.h"

namespace sluice {

// Trials with a column for each parameter; those of another kind of trial than the first have no
// column.
std::string TrialTable(const StudyInfo& study, const std::vector<TrialInfo>& trials,
                       const Terminal& terminal, Time now);

}  // namespace sluice
