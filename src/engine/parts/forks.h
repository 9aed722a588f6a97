#pragma once

#include "engine/engine_state.h"
#include "engine/parts/checkpoints.h"
#include "engine/parts/departures.h"

namespace sluice {

// Makes forks. A fork is a new trial that takes the place of one that lost, and begins from the
// checkpoint of another.
class Forks {
 public:
  Forks(EngineState& state, Checkpoints& checkpoints, Departures& departures)
      : state_(state), checkpoints_(checkpoints), departures_(departures) {}

  Trial& Make(Study& study, const Ruling& ruling);
  // The parameters of a fork have come.
  void OnProposed(Study& study, const Proposed& event);

 private:
  EngineState& state_;
  Checkpoints& checkpoints_;
  Departures& departures_;
};

}  // namespace sluice
