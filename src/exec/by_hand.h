#pragma once

#include <string>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Becomes the program of a trial, started by hand: with its parameters, its seed and the study's
// environment, from the study's folder and from no checkpoint. What it reports is printed, and goes
// nowhere else. `scratch` is an empty folder for what a launch has files for. Returns only if that
// fails.
Status BecomeProgramOf(Reader& reader, const StudyInfo& study, const TrialInfo& trial,
                       const std::string& scratch);

}  // namespace sluice
