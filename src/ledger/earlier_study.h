#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/warm_start.h"

namespace sluice {

// The place where a new study is made. The paths in its warm_start are resolved from this place.
struct StudyPlace {
  std::string store;   // the database
  std::string folder;  // of the study file: relative paths begin here
};

// Reads the earlier study that a warm_start names: from a Sluice store or from an Optuna file.
// Trials that failed, and trials that still run or wait, have no result.
Result<EarlierStudy> ReadEarlierStudy(const WarmStart& wish, const StudyPlace& place);

// Reads what the study's warm_start gives its sampler, and writes nothing. Error messages begin
// with "warm_start: ".
Result<Knowledge> GatherKnowledge(const StudySpec& spec, const StudyPlace& place,
                                  std::uint64_t seed);

}  // namespace sluice
