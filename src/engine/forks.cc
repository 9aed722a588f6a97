// How a fork is made: a new trial that takes the place of one that lost, and begins from the
// checkpoint of another.

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/note.h"

namespace sluice {

Trial& Engine::MakeFork(Study& study, const Ruling& ruling) {
  SLUICE_CHECK(IsSet(ruling.from) && Number(ruling.from) <= study.trials.size(),
               "a stopper forks from trials it was shown");
  Trial made;
  made.id = TrialId(study.trials.size() + 1);
  made.parent = ruling.from;
  made.point = study.trial(ruling.from).point;
  made.awaits_parameters = true;
  made.created = now_;
  made.target = ruling.target;
  ++study.forks;
  Trial& fork = Add(study, std::move(made));
  study.stopper->AdmitFork(fork.id, ruling.trial);
  commands_.push_back(Propose{.study = study.id, .fork = fork.id, .parent = fork.parent});
  Trial& parent = study.trials[Number(ruling.from) - 1];
  if (parent.state == TrialState::kRunning) {
    fork.copying = Copying::kWaits;
    if (!parent.leaving) SaveAndComeBack(study, parent);
  } else {
    AskCopy(study, fork);
    BoundCheckpoints(study);
  }
  return fork;
}

// A checkpoint must not be written to while it is copied, and must be what the engine believes it
// to be. So a trial that is forked from pauses, saves its work, and goes on once it has left.
void Engine::SaveAndComeBack(Study& study, Trial& parent) {
  Leave(study, parent, StopReason::kPaused);
  parent.leave_reason = StopReason::kYield;
}

void Engine::OnFork(Study& study, const Proposed& event) {
  if (Number(event.fork) > study.trials.size()) return;
  Trial& fork = study.trials[Number(event.fork) - 1];
  if (!fork.awaits_parameters) return;  // answered twice
  if (event.point) fork.point = *event.point;
  fork.awaits_parameters = false;
  Changed(study, fork);
  replan_ = true;
}

// Asks for a copy of the checkpoint of the parent. Work that the parent did after it is not part of
// the fork.
void Engine::AskCopy(Study& study, Trial& fork) {
  const Trial& parent = study.trial(fork.parent);
  const std::string whose = fmt::format("trial {}", Number(parent.id));
  if (!parent.HasCheckpoint())
    return BeginAnew(study, fork, fmt::format("{} has no checkpoint", whose));
  if (parent.saved_work >= study.spec.stopper.max_budget)
    return BeginAnew(study, fork, fmt::format("{} is done", whose));
  fork.copying = Copying::kAsked;
  GoOnFrom(study, fork, parent.saved_work);
  SetSaved(study, fork, parent.saved_bytes);
  Changed(study, fork);
  commands_.push_back(CopyOf(study, fork));
}

CopyCheckpoint Engine::CopyOf(const Study& study, const Trial& fork) {
  return {study.id, fork.parent, fork.id, study.spec.stopper.max_budget};
}

void Engine::GoOnFrom(const Study& study, Trial& fork, Work work) {
  fork.forked_at = fork.work = fork.saved_work = work;
  fork.target = std::max(fork.target, work + 1);
  fork.note =
      fmt::format("a fork of trial {} at {} {}", Number(fork.parent), study.spec.unit, work);
}

// Asks for the copies of forks that waited for this parent to leave.
void Engine::AskCopiesOf(Study& study, TrialId parent) {
  if (study.forks == 0) return;
  for (const TrialId id : study.waiting) {
    Trial& fork = study.trials[Number(id) - 1];
    if (fork.parent == parent && fork.copying == Copying::kWaits) AskCopy(study, fork);
  }
}

// A fork without a checkpoint to go on from trains from scratch, with its own parameters.
void Engine::BeginAnew(Study& study, Trial& fork, std::string_view why) {
  fork.forked_at = fork.work = fork.saved_work = 0;
  fork.copying = Copying::kNot;
  SetSaved(study, fork, 0);
  fork.note = NoteOf(
      fmt::format("a fork of trial {} that trains from scratch: {}", Number(fork.parent), why));
  Changed(study, fork);
  replan_ = true;
}

void Engine::On(const CheckpointCopied& event) {
  if (trial(event.trial) == nullptr) return;
  Study& study = *FindStudy(event.trial.study);
  Trial& fork = study.trials[Number(event.trial.trial) - 1];
  if (fork.copying != Copying::kAsked) return;
  fork.copying = Copying::kNot;
  replan_ = true;
  if (!event.error.empty()) return BeginAnew(study, fork, event.error);
  // A parent that was lost may have saved more than it could report.
  if (event.work && *event.work != fork.forked_at) {
    GoOnFrom(study, fork, *event.work);
    Changed(study, fork);
  }
}

}  // namespace sluice
