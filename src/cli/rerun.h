#pragma once

#include <optional>
#include <string>

#include "ledger/reader.h"

namespace sluice {

// The command line with which a user runs a trial's parameters again, from the study's folder.
// Words that only a launch can fill in ({checkpoint}, {params}, {seed}) stay as they are written.
// Returns nothing if the program does not get all its parameters as arguments, or if the study can
// no longer be read.
std::optional<std::string> RerunCommand(Reader& reader, const StudyInfo& study,
                                        const TrialInfo& trial);

// Whether the study has a program that can be run by hand. One with `train` has none: its trials
// are trained together.
bool HasProgramToRun(Reader& reader, const StudyInfo& study);

}  // namespace sluice
