#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Writes a study as an Optuna storage that Optuna 3.2 to 5 opens and goes on with. `path` is an
// empty file, or none; after a failure the file is of no use. Returns the number of trials written.
//
// Trial n becomes number n - 1. Stopped and paused trials are PRUNED. A complete trial is FAIL if
// its objective was never a number, as it is when Optuna is told NaN. Waiting trials are enqueued
// with their parameters and without their reports, since Optuna begins them anew. The value of a
// trial is its result: its best report, or its last if the objective says `of: last`.
Result<std::int64_t> WriteOptunaStudy(Reader& reader, const StudyInfo& study,
                                      const std::string& path);

}  // namespace sluice
