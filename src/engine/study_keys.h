#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "engine/study.h"

namespace sluice {

constexpr int kMaxTrials = 10'000'000;

// The keys of a study file that say how its trials run, not what is searched: a sweep may have them
// too.
const std::vector<std::string>& RunningKeys();

// Reads those of a file into a spec whose space has been read. What is wrong is reported to the
// file.
StudySpec ReadRunningKeys(const ConfigNode& root, const ConfigMap& map, StudySpec spec);

// Not empty, at most 100 bytes, no control characters.
Status CheckMetricName(std::string_view name);

}  // namespace sluice
