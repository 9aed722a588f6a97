#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Writes a study as an Optuna storage that Optuna 3.2 to 5 opens and goes on with. `path` is an
// empty file, or none; on failure it is of no use. Returns how many trials it holds.
//
// Trial n becomes number n - 1. Stopped and paused trials are PRUNED; complete ones whose objective
// was never a number are FAIL, as they are when Optuna is told NaN; waiting ones are enqueued with
// their parameters and without their reports, since Optuna begins them anew. The value of a trial
// is the best of its reports.
Result<std::int64_t> WriteOptunaStudy(Reader& reader, const StudyInfo& study,
                                      const std::string& path);

}  // namespace sluice
