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

// Fails with failed_precondition, saying what to do instead, for a study that cannot be run since
// it was imported.
Status CheckHasProgram(const StudySpec& spec);

// The study file that an Optuna study would have had.
struct OptunaStudyFile {
  std::string text;
  StudySpec spec;                  // what the text says
  std::vector<std::string> names;  // of its parameters, where Optuna allows more than we do
};

// Fails with invalid_argument where a study file cannot say it: no parameters, a choice twice, too
// many of them.
Result<OptunaStudyFile> MakeStudyFile(const OptunaStudy& study, const std::string& name);

}  // namespace sluice
