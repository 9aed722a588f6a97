#include "engine/observation.h"

namespace sluice {

Observation ObservationOf(const StudySpec& spec, const Trial& trial) {
  Observation observation{.trial = trial.id,
                          .point = trial.point,
                          .outcome = Outcome::kRunning,
                          .work = trial.work,
                          .value = spec.objective.Loss(trial.result)};
  for (const double value : trial.by_level)
    observation.by_level.push_back(spec.objective.Loss(value));
  if (trial.state == TrialState::kComplete) observation.outcome = Outcome::kComplete;
  if (trial.state == TrialState::kStopped) observation.outcome = Outcome::kStopped;
  if (trial.state == TrialState::kPaused) observation.outcome = Outcome::kPaused;
  if (trial.state == TrialState::kFailed) observation.outcome = Outcome::kFailed;
  return observation;
}

}  // namespace sluice
