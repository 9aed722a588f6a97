#pragma once

#include <optional>

#include "engine/engine_state.h"

namespace sluice {

// Where the trial runs, as if the trial were alone in its process. Nothing if a device that was
// granted to the trial is no longer on its node: the launch is then about to end.
std::optional<SpeedSituation> SituationOf(const Cluster& cluster, const Study& study,
                                          const Trial& trial);

// Measures from their reports how fast trials train, for policies that look at speeds.
class SpeedMeter {
 public:
  explicit SpeedMeter(EngineState& state) : state_(state) {}

  // Takes in a report before it is recorded in the trial: `trial.work` and `trial.launch` still
  // have their values from before the report.
  void Measure(Study& study, Trial& trial, const Reported& report);
  // Takes in what a process measured itself.
  void Learn(const Study& study, const Measurement& measured);
  // A trial joined or left the bundle. So the speed of the bundle's trials is measured from now on:
  // their earlier work says nothing about their speed now.
  void MeasureAnew(BundleId bundle);

 private:
  void Learn(const Study& study, SpeedSituation situation, double work, double seconds);
  int FusedWith(const Study& study, const Trial& trial) const;
  void MeasurePace(MeasuredPace& pace, const SpeedSituation& situation, double speed);

  EngineState& state_;
};

}  // namespace sluice
