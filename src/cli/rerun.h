#pragma once

#include <optional>
#include <string>

#include "ledger/reader.h"

namespace sluice {

// The command line that runs a trial's parameters again by hand, from the study's folder. Words
// that only a launch has ({checkpoint}, {params}, {seed}) stay as they are written. Nothing if the
// program does not get all its parameters as arguments, or if the study can no longer be read.
std::optional<std::string> RerunCommand(Reader& reader, const StudyInfo& study,
                                        const TrialInfo& trial);

}  // namespace sluice
