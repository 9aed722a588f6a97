#pragma once

#include "engine/engine_state.h"

namespace sluice {

// Tells launches to leave: one launch, those of a study that ends, or all.
class Departures {
 public:
  explicit Departures(EngineState& state) : state_(state) {}

  // Tells the trial's launch to leave, even if it was told before. The new reason replaces the old
  // one, with one exception: an expired lease forces the launch out, but does not change what was
  // already decided about its trial (IsDecided).
  void Leave(Study& study, Trial& trial, StopReason reason);
  // Tells the trial's launch to save and leave. The trial goes on in another launch.
  void SaveAndComeBack(Study& study, Trial& trial);
  // Tells all launches to leave. Nothing more is started.
  void Drain();
  // The same for one study, until it is resumed.
  void Pause(Study& study, StopReason reason);
  // Ends the study: nothing more of it is started. Its running trials are stopped, or are saved so
  // that they can go on if the study is resumed.
  void EndStudy(Study& study, Finish reason);
  // To be called when the process of `hung` is about to be ended by force. The other launches in
  // the process are told to save and leave, and their trials go on elsewhere. No other launch joins
  // the process.
  void EmptyBundle(Study& study, const Trial& hung);
  // Tells launches to leave that have run too long, or have not reported for too long.
  void CheckTimeouts(Study& study);

 private:
  void SaveAll(Study& study);
  void Drain(Study& study, StopReason reason);

  EngineState& state_;
};

// The reason to repeat to a launch that is leaving, when a controller takes over or when the
// launch's worker connects again.
StopReason ToldReason(const Study& study, const Trial& trial);

}  // namespace sluice
