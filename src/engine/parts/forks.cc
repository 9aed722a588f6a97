#include "engine/parts/forks.h"

#include <utility>

#include "base/check.h"

namespace sluice {

Trial& Forks::Make(Study& study, const Ruling& ruling) {
  SLUICE_CHECK(IsSet(ruling.from) && Number(ruling.from) <= study.trials.size(),
               "a stopper forks from trials it was shown");
  Trial made;
  made.id = TrialId(study.trials.size() + 1);
  made.parent = ruling.from;
  made.point = study.trial(ruling.from).point;
  made.awaits_parameters = true;
  made.created = state_.now;
  made.target = ruling.target;
  ++study.forks;
  Trial& fork = state_.AddTrial(study, std::move(made));
  study.stopper->AdmitFork(fork.id, ruling.trial);
  state_.commands.push_back(Propose{.study = study.id, .fork = fork.id, .parent = fork.parent});
  // A checkpoint must not be written to while it is copied, and its work must be what the engine
  // has recorded. So a running parent is told to save and leave, and goes on once its launch has
  // left.
  Trial& parent = study.trial(ruling.from);
  if (parent.state == TrialState::kRunning) {
    fork.copying = Copying::kWaits;
    if (!parent.leaving) departures_.SaveAndComeBack(study, parent);
  } else {
    checkpoints_.AskCopy(study, fork);
    checkpoints_.Bound(study);
  }
  return fork;
}

void Forks::OnProposed(Study& study, const Proposed& event) {
  if (Number(event.fork) > study.trials.size()) return;
  Trial& fork = study.trial(event.fork);
  if (!fork.awaits_parameters) return;  // answered twice
  if (event.point) fork.point = *event.point;
  fork.awaits_parameters = false;
  state_.MarkChanged(study, fork);
  study.replan = true;
}

}  // namespace sluice
