#pragma once

#include "engine/engine_state.h"
#include "engine/parts/checkpoints.h"
#include "engine/parts/departures.h"
#include "engine/parts/forks.h"
#include "engine/parts/speed_meter.h"
#include "engine/parts/transfers.h"

namespace sluice {

// What a report means: which trial is the best so far, and what the stopper makes of it. And what
// it means for a study that one of its trials is over.
class Judge {
 public:
  Judge(EngineState& state, const Transfers& transfers, SpeedMeter& speed_meter,
        Checkpoints& checkpoints, Departures& departures, Forks& forks)
      : state_(state),
        transfers_(transfers),
        speed_meter_(speed_meter),
        checkpoints_(checkpoints),
        departures_(departures),
        forks_(forks) {}

  // A new report of a running trial.
  void TakeReport(Study& study, Trial& trial, const Reported& report);
  // The trial is over, in this state.
  void Close(Study& study, Trial& trial, TrialState state);
  // Tells the stopper of an end that it did not rule itself.
  void EndSearch(Study& study, Trial& trial, bool failed);
  // Tells the stopper when no more trials will come, as far as is known: a study that is resumed or
  // gets more trials goes on with new ones. A proposal that is on its way will be a trial.
  void CloseIfAllMade(Study& study);

 private:
  void TakeResult(Study& study, Trial& trial);
  void AskStopper(Study& study, Trial& trial);
  void Follow(Study& study, const Ruling& ruling);
  void CheckStopAt(Study& study, const Reported& report);
  void CountOver(Study& study, const Trial& trial);

  EngineState& state_;
  const Transfers& transfers_;
  SpeedMeter& speed_meter_;
  Checkpoints& checkpoints_;
  Departures& departures_;
  Forks& forks_;
};

}  // namespace sluice
