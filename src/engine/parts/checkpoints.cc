#include "engine/parts/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/parts/note.h"

namespace sluice {

void Checkpoints::SetBytes(Study& study, Trial& trial, std::int64_t bytes) {
  study.checkpoint_bytes += bytes - trial.saved_bytes;
  trial.saved_bytes = bytes;
  if (bytes > 0) trial.evicted = false;
  if (bytes == 0) {
    study.saved.erase(trial.id);
  } else {
    study.saved.insert(trial.id);
  }
}

void Checkpoints::Remove(Study& study, Trial& trial) {
  SetBytes(study, trial, 0);
  trial.saved_work = 0;
  trial.evicted = true;
  state_.MarkChanged(study, trial);
  state_.commands.push_back(Evict{{study.id, trial.id}});
}

// Removes the checkpoints of ended trials first, the earliest ended first, but not that of the best
// trial. Then it removes those of paused and waiting trials, the cheapest to train again first.
void Checkpoints::Bound(Study& study) {
  const auto cost = [&](const Trial& trial) {
    const bool needed = trial.state == TrialState::kPaused || trial.state == TrialState::kWaiting;
    if (!needed) return std::pair(needed, Micros(trial.ended));
    const Duration before = trial.IsFork() ? study.trial(trial.parent).busy : Duration(0);
    return std::pair(needed, (trial.busy + before).count());
  };
  while (study.checkpoint_bytes > study.spec.checkpoint_cap_bytes) {
    Trial* cheapest = nullptr;
    for (TrialId id : study.saved) {
      Trial& trial = study.trial(id);
      const bool held = trial.state == TrialState::kRunning || id == study.best;
      if (!held && (cheapest == nullptr || cost(trial) < cost(*cheapest))) cheapest = &trial;
    }
    if (cheapest == nullptr) return;
    Remove(study, *cheapest);
    if (cheapest->IsFork() && cheapest->reports == 0)
      TrainFromScratch(study, *cheapest, "its copy was removed to keep the checkpoint_cap");
  }
}

// The fork's work is that of the parent's checkpoint. Work that the parent did after the checkpoint
// does not count.
void Checkpoints::AskCopy(Study& study, Trial& fork) {
  const Trial& parent = study.trial(fork.parent);
  const std::string whose = fmt::format("trial {}", Number(parent.id));
  if (!parent.HasCheckpoint())
    return TrainFromScratch(study, fork, fmt::format("{} has no checkpoint", whose));
  if (parent.saved_work >= study.spec.stopper.max_budget)
    return TrainFromScratch(
        study, fork, fmt::format("the checkpoint of {} is at the full budget already", whose));
  fork.copying = Copying::kAsked;
  GoOnFrom(study, fork, parent.saved_work);
  SetBytes(study, fork, parent.saved_bytes);
  state_.MarkChanged(study, fork);
  state_.commands.push_back(CopyOf(study, fork));
}

CopyCheckpoint CopyOf(const Study& study, const Trial& fork) {
  return {study.id, fork.parent, fork.id, study.spec.stopper.max_budget};
}

void Checkpoints::GoOnFrom(const Study& study, Trial& fork, Work work) {
  fork.forked_at = fork.work = fork.saved_work = work;
  fork.target = std::max(fork.target, work + 1);
  fork.note =
      fmt::format("a fork of trial {} at {} {}", Number(fork.parent), study.spec.unit, work);
}

void Checkpoints::AskCopiesOf(Study& study, TrialId parent) {
  if (study.forks == 0) return;
  for (const TrialId id : study.waiting) {
    Trial& fork = study.trial(id);
    if (fork.parent == parent && fork.copying == Copying::kWaits) AskCopy(study, fork);
  }
}

// If a fork has no checkpoint to go on from, it trains from scratch, with its own parameters.
void Checkpoints::TrainFromScratch(Study& study, Trial& fork, std::string_view why) {
  fork.forked_at = fork.work = fork.saved_work = 0;
  fork.copying = Copying::kNot;
  SetBytes(study, fork, 0);
  fork.note = NoteOf(
      fmt::format("a fork of trial {} that trains from scratch: {}", Number(fork.parent), why));
  state_.MarkChanged(study, fork);
  study.replan = true;
}

void Checkpoints::OnCopied(const CheckpointCopied& event) {
  if (state_.FindTrial(event.trial) == nullptr) return;
  Study& study = state_.study(event.trial.study);
  Trial& fork = study.trial(event.trial.trial);
  if (fork.copying != Copying::kAsked) return;
  fork.copying = Copying::kNot;
  study.replan = true;
  if (!event.error.empty()) return TrainFromScratch(study, fork, event.error);
  // A parent that was lost may have saved more work than it had reported.
  if (event.work && *event.work != fork.forked_at) {
    GoOnFrom(study, fork, *event.work);
    state_.MarkChanged(study, fork);
  }
}

}  // namespace sluice
