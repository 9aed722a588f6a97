#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"
#include "sim/read/measured_workload.h"

namespace sluice {

// What the trials of a study in the store have measured, for one like it.
struct EarlierRuns {
  std::string study;  // empty: there is none
  MeasuredWorkload measured;
  std::string kind;                // of the first device it ran on; empty: it had none
  std::vector<std::string> notes;  // what of it could not be used
};

// The study that is named, or one with the name of the study that is planned, if there is one. Reads at
// most a few hundred trials. Values of another objective are left out, with a note. A study that is
// named and says nothing, or counts work in another unit, is refused with invalid_argument; one that
// only has the name is passed over, with a note.
Result<EarlierRuns> FindEarlierRuns(const std::string& store, const StudySpec& study,
                                    const std::optional<std::string>& like);

}  // namespace sluice
