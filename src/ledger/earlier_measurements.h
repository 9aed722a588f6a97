#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "engine/event.h"
#include "ledger/database.h"

namespace sluice {

// What the processes of an earlier study of this store measured, for a study that is being made.
// Counts the latest study with measurements that has the same program, folder and unit of work.
// Takes only what was measured on cores or on devices of these kinds, with the latest measurement
// for each situation. Without such a study, nothing was measured.
Result<MeasurementsGiven> ReadEarlierMeasurements(Database& database, const StudyCreated& created,
                                                  const std::set<std::string>& kinds);

}  // namespace sluice
