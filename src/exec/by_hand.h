#pragma once

#include <string>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Replaces this process with the program of a trial, as if a user started the program by hand. It
// gets the trial's parameters and seed and the study's environment, and runs in the study's folder
// without a checkpoint. Its reports are printed, and not recorded. `scratch` is an empty folder for
// the files that a launch has. Returns only on failure.
Status BecomeProgramOf(Reader& reader, const StudyInfo& study, const TrialInfo& trial,
                       const std::string& scratch);

}  // namespace sluice
