#pragma once

#include "engine/engine_state.h"

namespace sluice {

// Tells launches to leave: one of them, those of a study that ends, or all.
class Departures {
 public:
  explicit Departures(EngineState& state) : state_(state) {}

  // Tells the trial's launch to leave, again if it was told before. The new reason replaces the old
  // one, with one exception: an expired lease forces the launch out, but does not change what was
  // decided of its trial (IsDecided).
  void Leave(Study& study, Trial& trial, StopReason reason);
  // The trial saves its work, and goes on once its launch has left.
  void SaveAndComeBack(Study& study, Trial& trial);
  // All launches leave, and nothing more is started.
  void Drain(StopReason reason);
  // No new work of this study. Its running trials are stopped, or saved for later.
  void EndStudy(Study& study, Finish reason);
  // The process of `hung` will be ended by force. The other launches in it save their work, leave,
  // and go on elsewhere. No other launch joins it.
  void EmptyBundle(Study& study, const Trial& hung);
  // The launches that have run too long, or have not reported for too long, leave.
  void CheckTimeouts(Study& study);

 private:
  void SaveAll(Study& study);

  EngineState& state_;
};

// The reason that a leaving launch is told again, when a controller takes over or when its worker
// comes back.
StopReason ToldReason(const Study& study, const Trial& trial);

}  // namespace sluice
