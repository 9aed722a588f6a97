#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "engine/event.h"
#include "ledger/database.h"

namespace sluice {

// Returns measurements that the processes of an earlier study in this store made, for a new study.
// The earlier study is the latest study with such measurements that has the same program, folder
// and unit of work. Only measurements on cores, or on devices of a kind in `kinds`, count. Of
// several measurements in one SpeedSituation, the latest known memory and the latest known speed
// count. If there is no such study, the result has no measurements.
Result<MeasurementsGiven> ReadEarlierMeasurements(Database& database, const StudyCreated& created,
                                                  const std::set<std::string>& kinds);

}  // namespace sluice
