#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/study_state.h"
#include "cli/view/terminal.h"
#include "ledger/reader.h"
#include "ledger/store.h"

namespace sluice {

// The trial's result at full precision, as in "0.9132 at epoch 9".
std::string DescribeBestValue(const StudyInfo& study, const TrialInfo& trial);

// The trials in each state, as in "18 complete, 5 stopped, 1 failed". A state without trials is
// left out.
std::string DescribeCounts(const StudyInfo& study, const Terminal& terminal);

// The parameters as a YAML file would have them, each on its own line: "  lr: 0.0123".
std::string ParamLines(const TrialInfo& trial, const std::string& indent);

// Lines such as "name   value", with the values aligned. Lines with an empty value are left out.
std::string Labelled(const std::vector<std::pair<std::string, std::string>>& lines,
                     const Terminal& terminal);

// A number with so many digits that reading it gives the same number.
std::string FullNumber(double value);

}  // namespace sluice
