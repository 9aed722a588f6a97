#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"
#include "ledger/reader.h"

namespace sluice {

// The latest trials of a study in order of ids, for NewlyEnded. From the engine, only trials that
// run or are over.
std::vector<TrialSummary> LatestTrials(const Study& study);
Result<std::vector<TrialSummary>> LatestTrials(Reader& reader, StudyId study);

// Finds the trials that ended since it was made, each once.
class NewlyEnded {
 public:
  NewlyEnded();
  std::vector<TrialSummary> Take(std::vector<TrialSummary> latest);

 private:
  const Time begun_;
  std::vector<bool> told_;  // by trial: whether it was over at the last Take
};

// "trial 7 failed: exit status 1"
std::string FailedText(const TrialSummary& trial);

// A view says at most this many lines about trials that ended at one time.
constexpr int kMostLines = 20;

}  // namespace sluice
