#pragma once

#include "engine/engine_state.h"
#include "engine/parts/checkpoints.h"
#include "engine/parts/departures.h"
#include "engine/parts/forks.h"
#include "engine/parts/speed_meter.h"
#include "engine/parts/transfers.h"

namespace sluice {

// Decides what a report means: its trial may become the best so far, and the stopper rules on it.
// Also decides what the end of a trial means for its study.
class Judge {
 public:
  Judge(EngineState& state, Transfers& transfers, SpeedMeter& speed_meter, Checkpoints& checkpoints,
        Departures& departures, Forks& forks)
      : state_(state),
        transfers_(transfers),
        speed_meter_(speed_meter),
        checkpoints_(checkpoints),
        departures_(departures),
        forks_(forks) {}

  // A new report of a running trial.
  void TakeReport(Study& study, Trial& trial, const Reported& report);
  // Closes a trial that is over, in this state.
  void Close(Study& study, Trial& trial, TrialState state);
  // Tells the stopper that the trial has ended for a reason other than a ruling of the stopper.
  void EndSearch(Study& study, Trial& trial, bool failed);
  // Tells the stopper when, as far as is known, no more trials will come. A proposal that is on its
  // way counts as a trial to come. If the study is later resumed or gets more trials, new trials
  // still come.
  void CloseIfAllMade(Study& study);

 private:
  void TakeResult(Study& study, Trial& trial);
  void AskStopper(Study& study, Trial& trial);
  void Follow(Study& study, const Ruling& ruling);
  void CheckStopAt(Study& study, const Reported& report);
  void CountOver(Study& study, const Trial& trial);

  EngineState& state_;
  Transfers& transfers_;
  SpeedMeter& speed_meter_;
  Checkpoints& checkpoints_;
  Departures& departures_;
  Forks& forks_;
};

}  // namespace sluice
