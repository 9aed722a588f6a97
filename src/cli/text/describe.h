#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/study_state.h"
#include "cli/view/terminal.h"
#include "ledger/reader.h"
#include "ledger/store.h"

namespace sluice {

// "0.9132 at epoch 9", at full precision
std::string DescribeBestValue(const StudyInfo& study, const TrialInfo& trial);

// "18 complete, 5 stopped, 1 failed"; states without a trial are left out
std::string DescribeCounts(const StudyInfo& study, const Terminal& terminal);

// The parameters, a line each: "  lr: 0.0123", as a YAML file would have them.
std::string ParamLines(const TrialInfo& trial, const std::string& indent);

// "name   value" lines, the values aligned; those without a value are left out.
std::string Labelled(const std::vector<std::pair<std::string, std::string>>& lines,
                     const Terminal& terminal);

// A number that reads back as the same.
std::string FullNumber(double value);

}  // namespace sluice
