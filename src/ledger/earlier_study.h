#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/warm_start.h"

namespace sluice {

// Where a study is made: its warm_start is told from there.
struct StudyPlace {
  std::string store;   // the database
  std::string folder;  // the study file's: where relative paths begin
};

// Reads the earlier study that a warm_start names: from a store of ours or from an Optuna file.
// Failed trials and those that still run have no result.
Result<EarlierStudy> ReadEarlierStudy(const WarmStart& wish, const StudyPlace& place);

// What the study's warm_start gives its sampler; nothing is written. Messages begin with
// "warm_start: ".
Result<Knowledge> GatherKnowledge(const StudySpec& spec, const StudyPlace& place,
                                  std::uint64_t seed);

}  // namespace sluice
