#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "engine/read/templates.h"
#include "engine/study.h"

namespace sluice {

constexpr int kMaxTrials = 10'000'000;
constexpr std::int64_t kMaxEta = 1000;
constexpr std::size_t kLongestStudyName = 100;

// The keys of a study file that say how its trials run, not what is searched: a sweep may have them
// too.
const std::vector<std::string>& RunningKeys();

// Reads these keys of a file into a spec. `names` are the parameters that templates may use.
// Mistakes are reported to the file.
StudySpec ReadRunningKeys(const ConfigMap& map, const ParameterNames& names, StudySpec spec);

// The most bad templates that are reported. Looking for the nearest word costs time, and no user
// reads the thousandth suggestion.
constexpr std::size_t kMostBadTemplates = 100;

constexpr std::size_t kLongestMetric = 100;

// Fails if a study does not say all that a policy needs.
Status CheckPolicy(std::string_view policy, const StudySpec& spec);

// Fails if the name is empty, is longer than 100 bytes, or has control characters.
Status CheckMetricName(std::string_view name);

}  // namespace sluice
