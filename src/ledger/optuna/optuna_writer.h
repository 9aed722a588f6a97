#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Writes a study as an Optuna storage that Optuna 3.2 to 5 can open and continue. `path` must name
// an empty file or no file. After a failure the file is useless. Returns the number of trials
// written.
//
// Trial n becomes number n - 1. Stopped and paused trials are PRUNED. A complete trial is FAIL if
// its objective was never a number, as in Optuna when a trial returns NaN. Waiting trials are
// enqueued with their parameters and without their reports, since Optuna starts them from the
// beginning. The value of a trial is its result: its best report, or its last report if the
// objective says `of: last`.
Result<std::int64_t> WriteOptunaStudy(Reader& reader, const StudyInfo& study,
                                      const std::string& path);

}  // namespace sluice
