#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"
#include "sim/read/measured_workload.h"

namespace sluice {

// What the trials of a study in the store have measured, for the plan of a similar study.
struct EarlierRuns {
  std::string study;  // name of the measured study; empty: no study was measured
  MeasuredWorkload measured;
  std::string kind;                // kind of the study's first device; empty: it had no device
  std::vector<std::string> notes;  // what could not be used of the study, and why
};

// Measures the study that `like` names. Without `like`, measures the stored study that has the same
// name as `study`, if there is one. Reads at most a few hundred trials. If the measured study has
// another objective, its values are left out, with a note.
//
// A study cannot be used if it has nothing to measure, or if it counts work in another unit. If
// `like` names such a study, this fails with invalid_argument. Without `like`, such a study is
// passed over, with a note.
Result<EarlierRuns> FindEarlierRuns(const std::string& store, const StudySpec& study,
                                    const std::optional<std::string>& like);

}  // namespace sluice
