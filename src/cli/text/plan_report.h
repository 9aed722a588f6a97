#pragma once

#include <string>

#include "cli/study_plan.h"
#include "cli/view/terminal.h"

namespace sluice {

// The plan's assumptions, a line for each policy, and the advice.
std::string PlanText(const StudyPlan& plan, const Terminal& terminal);

// The same, with further figures, as a JSON object on one line.
std::string PlanJson(const StudyPlan& plan);

}  // namespace sluice
