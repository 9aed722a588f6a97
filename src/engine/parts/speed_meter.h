#pragma once

#include "engine/engine_state.h"

namespace sluice {

// Measures how quick trials are from their reports, for policies that look at speeds.
class SpeedMeter {
 public:
  explicit SpeedMeter(EngineState& state) : state_(state) {}

  // Takes in a report before it is recorded in the trial: the trial's `work` and `launch` are still
  // as before.
  void Measure(Study& study, Trial& trial, const Reported& report);
  // Takes in what a process measured itself.
  void Learn(const Study& study, const Trial& trial, const Profiled& profile);
  // A trial joined the bundle or left it. What its members did before says nothing about their
  // speed now.
  void MeasureAnew(BundleId bundle);

 private:
  int FusedWith(const Study& study, const Trial& trial) const;
  void MeasurePace(MeasuredPace& pace, const SpeedSituation& situation, double speed);

  EngineState& state_;
};

}  // namespace sluice
