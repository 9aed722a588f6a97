#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"
#include "sim/read/measured_workload.h"

namespace sluice {

// Measurements of the trials of a study in the store, for a plan of a similar study.
struct EarlierRuns {
  std::string study;  // empty: there is none
  MeasuredWorkload measured;
  std::string kind;                // of the first device it ran on; empty: it had none
  std::vector<std::string> notes;  // what of it could not be used
};

// Measures the study named by `like`, or else the study with the name of the planned one, if there
// is one. Reads at most a few hundred trials. Values of another objective are left out, with a
// note. Fails with invalid_argument if the study named by `like` has nothing to measure, or counts
// work in another unit. Without `like` such a study is passed over, with a note.
Result<EarlierRuns> FindEarlierRuns(const std::string& store, const StudySpec& study,
                                    const std::optional<std::string>& like);

}  // namespace sluice
