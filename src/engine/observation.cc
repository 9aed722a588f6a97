#include "engine/observation.h"

namespace sluice {

Observation ObservationOf(const StudySpec& spec, const Trial& trial) {
  Observation observation{.trial = trial.id,
                          .point = trial.point,
                          .outcome = Outcome::kRunning,
                          .work = trial.work,
                          .value = spec.objective.Loss(trial.result)};
  if (trial.state == TrialState::kComplete) observation.outcome = Outcome::kComplete;
  if (trial.state == TrialState::kStopped) observation.outcome = Outcome::kStopped;
  if (trial.state == TrialState::kFailed) observation.outcome = Outcome::kFailed;
  return observation;
}

}  // namespace sluice
