#pragma once

#include <string_view>

#include "engine/engine_state.h"
#include "engine/parts/checkpoints.h"
#include "engine/parts/departures.h"
#include "engine/parts/judge.h"
#include "engine/parts/speed_meter.h"

namespace sluice {

// Decides what becomes of a trial when its launch has ended: complete, stopped, paused, queued
// again, retried later or failed for good.
class Endings {
 public:
  Endings(EngineState& state, SpeedMeter& speed_meter, Checkpoints& checkpoints,
          Departures& departures, Judge& judge)
      : state_(state),
        speed_meter_(speed_meter),
        checkpoints_(checkpoints),
        departures_(departures),
        judge_(judge) {}

  void EndLaunch(Study& study, Trial& trial, const LaunchEnded& event);
  // Ends the launches on nodes that are down: no other event will say that they ended.
  void LoseLaunchesOnLostNodes();

 private:
  int CountNeighbours(Study& study, Trial& trial, const LaunchEnded& event);
  void Settle(Study& study, Trial& trial, const LaunchEnded& event);
  void BeginAgain(Study& study, Trial& trial);
  void PutBack(Study& study, Trial& trial, std::string_view reason);
  void HoldStarts(Study& study, std::string_view reason);
  void Fail(Study& study, Trial& trial, std::string_view reason);

  EngineState& state_;
  SpeedMeter& speed_meter_;
  Checkpoints& checkpoints_;
  Departures& departures_;
  Judge& judge_;
};

}  // namespace sluice
