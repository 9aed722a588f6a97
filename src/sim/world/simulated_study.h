#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"
#include "engine/event.h"
#include "search/sampler.h"
#include "sim/learning_curve.h"
#include "sim/read/scenario.h"
#include "sim/true_speed.h"

namespace sluice {

// A study of the scenario, and what is true of its trials in the simulated world.
struct SimulatedStudy {
  const ScenarioStudy* study = nullptr;
  StudyId id{};
  StudyCreated created;     // the event of its arrival
  PointsEnqueued enqueued;  // the event after that, if there are points
  TrueSpeed speed;
  LearningCurves curves;
  std::unique_ptr<Sampler> sampler;
  bool learns = false;            // the sampler uses results
  Random trials;                  // the random stream by which trials differ in pace
  std::vector<Work> checkpoints;  // the saved work of each trial, by its number; 0: none
  Event report;                   // a Reported event, used again for each report

  const WorkloadSpec& workload() const { return study->workload; }

  // The work that the trial's checkpoint holds; 0 if it has none.
  Work& Checkpoint(TrialId trial) {
    if (Number(trial) >= checkpoints.size()) checkpoints.resize(Number(trial) + 1, 0);
    return checkpoints[Number(trial)];
  }

  // A trial's speed relative to the others, when it is not in a bundle.
  double PaceOf(TrialId trial) const {
    const double spread = study->workload.spread;
    return spread > 0 ? std::exp(-spread * trials.Fork(Number(trial)).Normal()) : 1;
  }
};

// The studies of a run; the study with id n is at index n - 1. They do not move in memory.
using SimulatedStudies = std::vector<std::unique_ptr<SimulatedStudy>>;

// The studies of a scenario. The scenario must outlive them. Fails if a sampler cannot be made, or
// if an enqueued point does not belong to its study's space.
Result<SimulatedStudies> MakeSimulatedStudies(const Scenario& scenario, std::uint64_t seed);

}  // namespace sluice
