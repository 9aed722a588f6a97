#pragma once

#include <vector>

#include "cli/view/progress.h"
#include "cli/view/report_rate.h"
#include "exec/session.h"
#include "ledger/reader.h"

namespace sluice {

// A view of a study. The process that runs the study calls Tick with the engine's state. A process
// that reads the store calls Show.
class View : public Watcher {
 public:
  void Tick(const Study& study, Time now) final;
  // `latest` is from LatestTrials, or empty if WantsTrials returns false.
  void Show(Progress progress, std::vector<TrialSummary> latest);

  // Whether Show needs the latest trials.
  virtual bool WantsTrials(const Progress&) const { return false; }
  // Shows the last state, which then stays on the terminal. Only Say may be called after it.
  virtual void Finish() = 0;

 private:
  virtual void Take(Progress progress, std::vector<TrialSummary> latest) = 0;
  ReportRate rate_;
};

}  // namespace sluice
