#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"
#include "ledger/reader.h"

namespace sluice {

// The newest trials of a study (at most 20,000), in order of their ids. NewlyEnded takes them. The
// function that takes a Study returns only those that run or have ended.
std::vector<TrialSummary> LatestTrials(const Study& study);
Result<std::vector<TrialSummary>> LatestTrials(Reader& reader, StudyId study);

// Finds the trials that ended since the NewlyEnded was made.
class NewlyEnded {
 public:
  NewlyEnded();
  // Of the latest trials, those whose end no earlier call has returned.
  std::vector<TrialSummary> Take(std::vector<TrialSummary> latest);

 private:
  const Time begun_;
  std::vector<bool> told_;  // by trial number: whether the trial had ended at the last Take
};

// Says that a trial failed, as in "trial 7 failed: exit status 1".
std::string FailedText(const TrialSummary& trial);

// The most lines that a view prints about trials that ended between two updates.
constexpr int kMostLines = 20;

}  // namespace sluice
