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
  std::string name;    // in the Sluice store
  std::string folder;  // of the Optuna file
  Time now{};
};

struct ImportedStudy {
  StudyRow row;
  // Parameters: name in Optuna, name here.
  std::vector<std::pair<std::string, std::string>> renamed;
};

// Writes an Optuna study into the store, in one commit, as events that could have happened here.
// The study is finished afterwards. Fails with failed_precondition if the name is taken, and as
// MakeStudyFile does. The caller must hold the store's lock.
//
// - A trial that was pruned, or was running or waiting, is stopped.
// - Step s is work s, or s + 1 in a study that has a step 0, since work is counted from 1. A
//   returned value becomes a report of its own after the last step, unless it is the best
//   intermediate value already.
// - Here a trial's value is its best report; in Optuna it is what the trial returned. If some trial
//   returned a value worse than its best intermediate one, the intermediate values of all trials
//   are kept as another metric ("intermediate"), so that both values agree.
// - In the imported history, at most 256 trials run at the same time. Where more ran in Optuna, the
//   trials that ended first are made to end earlier.
Result<ImportedStudy> ImportOptunaStudy(Ledger& ledger, const ImportRequest& request);

}  // namespace sluice
