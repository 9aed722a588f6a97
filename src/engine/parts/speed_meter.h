#pragma once

#include <optional>

#include "engine/engine_state.h"

namespace sluice {

// Where the trial runs, as if it were alone in its process. Nothing if the node no longer has the
// trial's devices: the launch is about to end.
std::optional<SpeedSituation> SituationOf(const Cluster& cluster, const Study& study,
                                          const Trial& trial);

// Measures how quick trials are from their reports, for policies that look at speeds.
class SpeedMeter {
 public:
  explicit SpeedMeter(EngineState& state) : state_(state) {}

  // Takes in a report before it is recorded in the trial: the trial's `work` and `launch` are still
  // as before.
  void Measure(Study& study, Trial& trial, const Reported& report);
  // Takes in what a process measured itself.
  void Learn(const Study& study, const Measurement& measured);
  // A trial joined the bundle or left it. What its members did before says nothing about their
  // speed now.
  void MeasureAnew(BundleId bundle);

 private:
  void Learn(const Study& study, SpeedSituation situation, double work, double seconds);
  int FusedWith(const Study& study, const Trial& trial) const;
  void MeasurePace(MeasuredPace& pace, const SpeedSituation& situation, double speed);

  EngineState& state_;
};

}  // namespace sluice
