#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/study.h"
#include "ledger/optuna/optuna_reader.h"

namespace sluice {

// What an imported study has in place of a program.
constexpr std::string_view kImportedProgram = "imported-from-optuna";

// Fails with failed_precondition if the study was imported, and so has no program to run. The
// message says what to do instead.
Status CheckHasProgram(const StudySpec& spec);

// The study file that an Optuna study would have had.
struct OptunaStudyFile {
  std::string text;
  StudySpec spec;                  // what the text says
  std::vector<std::string> names;  // of its parameters here: Optuna allows names that we do not
};

// Fails with invalid_argument if a study file cannot express the study: it has no parameters, has a
// choice twice, or has too many of either.
Result<OptunaStudyFile> MakeStudyFile(const OptunaStudy& study, const std::string& name);

}  // namespace sluice
