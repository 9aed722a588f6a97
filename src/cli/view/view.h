#pragma once

#include <string_view>
#include <vector>

#include "cli/view/progress.h"
#include "cli/view/report_rate.h"
#include "ledger/reader.h"

namespace sluice {

// A view of a study.
class View {
 public:
  virtual ~View() = default;

  // Shows the study as it is in an engine.
  void Tick(const Study& study, Time now);
  // Shows the study as it is in a store. `latest` is from LatestTrials, or empty if WantsTrials
  // returns false.
  void Show(Progress progress, std::vector<TrialSummary> latest);

  // Whether Show needs the latest trials.
  virtual bool WantsTrials(const Progress&) const { return false; }
  // Shows something that the user should know immediately, such as that the study pauses.
  virtual void Say(std::string_view line) = 0;
  // Shows the last state, which then stays on the terminal. Only Say may be called after it.
  virtual void Finish() = 0;

 private:
  virtual void Take(Progress progress, std::vector<TrialSummary> latest) = 0;
  ReportRate rate_;
};

}  // namespace sluice
