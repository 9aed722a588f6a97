#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/warm_start.h"

namespace sluice {

// Where a new study is made: the paths of its warm_start are resolved from here.
struct StudyPlace {
  std::string store;   // the database
  std::string folder;  // of the study file: relative paths begin here
};

// Reads the earlier study that a warm_start names: from a Sluice store or from an Optuna file.
// Trials that failed, run or wait have no result.
Result<EarlierStudy> ReadEarlierStudy(const WarmStart& wish, const StudyPlace& place);

// What the study's warm_start gives its sampler; nothing is written. Messages begin with
// "warm_start: ".
Result<Knowledge> GatherKnowledge(const StudySpec& spec, const StudyPlace& place,
                                  std::uint64_t seed);

}  // namespace sluice
