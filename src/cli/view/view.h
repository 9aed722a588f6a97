#pragma once

#include <vector>

#include "cli/view/progress.h"
#include "cli/view/report_rate.h"
#include "exec/session.h"
#include "ledger/reader.h"

namespace sluice {

// A view of a study, fed by the engine (Tick) or from the store (Show).
class View : public Watcher {
 public:
  void Tick(const Study& study, Time now) final;
  void Show(Progress progress, std::vector<TrialSummary> latest);

  // Whether Show should come with the latest trials.
  virtual bool WantsTrials(const Progress&) const { return false; }
  // Shows the last state for good. Only Say may follow.
  virtual void Finish() = 0;

 private:
  virtual void Take(Progress progress, std::vector<TrialSummary> latest) = 0;
  ReportRate rate_;
};

}  // namespace sluice
