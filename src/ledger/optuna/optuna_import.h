#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "ledger/ledger.h"
#include "ledger/optuna/optuna_reader.h"

namespace sluice {

struct ImportRequest {
  OptunaStudy study;
  std::string name;    // here
  std::string folder;  // where the file lay
  Time now{};
};

struct ImportedStudy {
  StudyRow row;
  std::vector<std::pair<std::string, std::string>> renamed;  // parameters: there, here
};

// Writes a study of Optuna's into the store as events that could have happened here, all in one
// commit; it is finished then. Fails with failed_precondition if the name is taken, and as
// MakeStudyFile does. Call with the store's lock held.
//
// - A trial that was pruned, or was running or waiting, is stopped.
// - Step s is work s, or s + 1 in a study that has a step 0, since work is counted from 1. Values
//   that are returned come as a report of their own after the last step unless they are the best
//   intermediate value already.
// - Here a trial's value is its best report. So that it is what the trial returned there, too, all
//   intermediate values are kept as another metric ("intermediate") if some trial returned less
//   than the best of its own.
// - At most 256 trials ran at once: beyond that, those that would have ended first ended earlier.
Result<ImportedStudy> ImportOptunaStudy(Ledger& ledger, const ImportRequest& request);

}  // namespace sluice
