#pragma once

#include "engine/engine_state.h"
#include "engine/parts/checkpoints.h"
#include "engine/parts/departures.h"

namespace sluice {

// Makes forks. A fork is a new trial that takes the place of a trial that lost. It begins from the
// checkpoint of another trial, its parent.
class Forks {
 public:
  Forks(EngineState& state, Checkpoints& checkpoints, Departures& departures)
      : state_(state), checkpoints_(checkpoints), departures_(departures) {}

  Trial& Make(Study& study, const Ruling& ruling);
  // The parameters of a fork have arrived.
  void OnProposed(Study& study, const Proposed& event);

 private:
  EngineState& state_;
  Checkpoints& checkpoints_;
  Departures& departures_;
};

}  // namespace sluice
