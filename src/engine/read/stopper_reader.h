#pragma once

#include "config/config.h"
#include "engine/read/templates.h"
#include "engine/study.h"

namespace sluice {

// Reads 'budget' of a study into the spec: how far its trials go, and where they are judged.
// Mistakes are reported to the file. Returns true if there are none.
bool ReadBudget(const ConfigMap& study, StudySpec& spec);

// Reads 'stopper' of a study into a spec that has its budget, and whose space has these parameters.
// Mistakes are reported to the file. If the budget has mistakes (`budget_good` is false), the
// stopper is not checked against the budget.
void ReadStopper(const ConfigMap& study, const ParameterNames& parameters, bool budget_good,
                 StudySpec& spec);

}  // namespace sluice
