#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// All the settings that may change after a study has begun: how it is run, not what it searches.
struct StudyChange {
  std::string policy;
  int parallelism = 0;
  int retries = 1;
  int max_failures = 0;
  Duration backoff{};
  Timeouts timeouts;
};
StudyChange ChangeFrom(const StudySpec& spec);
void Apply(const StudyChange& change, StudySpec& spec);

// How an edited file differs from the file that a study was made from, key by key.
struct StudyDifference {
  std::vector<std::string> free;   // keys that can change
  std::vector<std::string> fixed;  // keys that cannot
  std::string text;                // "  - trials: 24\n  + trials: 48\n"

  bool empty() const { return free.empty() && fixed.empty(); }
};
// Compares two texts that were read as studies without mistakes.
Result<StudyDifference> CompareSources(std::string_view before, std::string_view after,
                                       std::string_view file);

}  // namespace sluice
