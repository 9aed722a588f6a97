// What becomes of a trial when its launch has ended: complete, put back, tried again or failed for
// good. And what becomes of a study whose trials fail.

#include <fmt/format.h>

#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/note.h"

namespace sluice {

// What an ended launch means for its trial.
void Engine::Settle(Study& study, Trial& trial, const LaunchEnded& event) {
  if (trial.leaving) {
    switch (trial.leave_reason) {
      case StopReason::kComplete: return Close(study, trial, TrialState::kComplete);
      case StopReason::kStopped: return Close(study, trial, TrialState::kStopped);
      case StopReason::kStudy:
        Close(study, trial, TrialState::kStopped);
        return EndSearch(study, trial, /*failed=*/true);  // the stopper does not know yet
      case StopReason::kPaused: return SetState(study, trial, TrialState::kPaused);
      case StopReason::kTimeout:
      case StopReason::kLease:
        if (trial.work >= study.spec.stopper.max_budget)
          return Close(study, trial, TrialState::kComplete);
        return Fail(
            study, trial,
            trial.leave_reason == StopReason::kLease ? "silent past its lease" : trial.note);
      case StopReason::kYield:
      case StopReason::kDrain: break;
    }
  }
  // A trial that was asked to make room, or left by itself with more to do, goes on later. So does
  // a trial that the end of the study cut short: its launch was made to leave and ended well, but
  // had more to do.
  const bool ends = study.ending == Finish::kDeadline || study.ending == Finish::kFailures;
  const bool cut_short = ends && event.ending == Ending::kDone && trial.work < trial.target &&
                         trial.target != kNoLimit;
  const bool yielded = trial.leaving && (event.ending == Ending::kFailed || cut_short);
  const bool more_to_do = event.ending == Ending::kDone && DidAsTold(study, trial) &&
                          trial.work < trial.target && trial.target != kNoLimit;
  if (event.ending == Ending::kNotStarted && !Planted("start-charged")) {
    PutBack(study, trial, event.reason);
    return HoldStarts(study, event.reason);
  }
  trial.lost = trial.lost || event.ending == Ending::kLost;
  if (yielded || more_to_do || event.ending == Ending::kLost || event.ending == Ending::kPaused)
    return PutBack(study, trial, event.reason);
  if (IsAhead(trial, event) && !Planted("ahead-complete")) return BeginAgain(study, trial);
  if (event.ending == Ending::kStopped) {
    Close(study, trial, TrialState::kStopped);
    return EndSearch(study, trial, /*failed=*/true);
  }
  if (event.ending == Ending::kFailed || event.ending == Ending::kNotStarted)
    return Fail(study, trial, event.reason);
  if (trial.HasResult()) return Close(study, trial, TrialState::kComplete);
  // Running the trial again would give the same: this failure is final.
  trial.failures = static_cast<std::uint32_t>(study.spec.retries);
  const std::string& metric = study.spec.objective.metric;
  if (trial.reports == 0) {
    const std::string but = event.reason.empty() ? "" : fmt::format(", but {}", event.reason);
    return Fail(study, trial, fmt::format("ended without reporting '{}'{}", metric, but));
  }
  const std::string last = study.rules < 2 ? "" : fmt::format(": {}", trial.note);
  Fail(study, trial,
       fmt::format("ended without a finite '{}' in its {} reports{}", metric, trial.reports, last));
}

// Whether a launch did what it was told when it started. Its program may not hear that its trial
// has further to go. A program that went past its target on its own has come to its own end, unless
// it was told the budget.
bool Engine::DidAsTold(const Study& study, const Trial& trial) {
  const bool at_least = study.tells_budget || study.rules < 2 || Planted("end-again");
  return at_least ? trial.launch_work >= trial.launch_target
                  : trial.launch_work == trial.launch_target;
}

// Whether a launch that ended well found nothing to do because its checkpoint is ahead of all
// reports: the reports in between were lost with an earlier launch.
bool Engine::IsAhead(const Trial& trial, const LaunchEnded& event) {
  const bool idle = event.ending == Ending::kDone && trial.launch_reports == 0;
  if (!idle || trial.restarted || Number(trial.launch) < 2 || event.checkpoint_bytes <= 0)
    return false;
  const bool short_of_target = trial.target != kNoLimit && trial.work < trial.target;
  return event.checkpoint_work > trial.work ||
         (event.checkpoint_work == 0 && trial.lost && short_of_target);
}

// Starts the trial from scratch, once: the checkpoint that is ahead is evicted.
void Engine::BeginAgain(Study& study, Trial& trial) {
  trial.restarted = true;
  SetSaved(study, trial, 0);
  trial.saved_work = 0;
  trial.evicted = true;
  commands_.push_back(Evict{{study.id, trial.id}});
  PutBack(study, trial, "its checkpoint was ahead of what it had reported: it began again");
}

// The trial goes on later. This does not count as a failure.
void Engine::PutBack(Study& study, Trial& trial, std::string_view reason) {
  // The note of a fork says where it comes from, until there is something else to say.
  if (!reason.empty() || !trial.IsFork()) trial.note = NoteOf(reason);
  SetState(study, trial, TrialState::kWaiting);
  Enqueue(study, trial);
}

// The machine failed, not the trial. Nothing more is started for a while. If that does not help,
// the study pauses: programs that can hear save and leave, and the others run to their end.
void Engine::HoldStarts(Study& study, std::string_view reason) {
  constexpr std::uint32_t kMostFailedStarts = 3;
  constexpr Duration kFirstHold = std::chrono::milliseconds(500);
  if (now_ < study.hold_until) return;  // this start is of the same round
  if (++study.failed_starts > kMostFailedStarts) {
    study.pause = NoteOf(reason);
    return Drain(StopReason::kYield);
  }
  study.hold_until = now_ + kFirstHold * (1LL << (study.failed_starts - 1));
  AskWake(study.hold_until);
}

void Engine::Fail(Study& study, Trial& trial, std::string_view reason) {
  const bool at_start = trial.IsFork() && trial.reports == 0 && trial.forked_at > 0;
  trial.note =
      at_start && study.rules >= 2
          ? NoteOf(fmt::format("a fork that could not go on from trial {}'s checkpoint: {}",
                               Number(trial.parent), reason))
          : NoteOf(reason);
  if (!Planted("endless-retries")) ++trial.failures;
  if (trial.failures > static_cast<std::uint32_t>(study.spec.retries)) {
    return Close(study, trial, TrialState::kFailed);
  }
  trial.not_before =
      now_ + study.spec.backoff * (1LL << std::min<std::uint32_t>(trial.failures - 1, 16));
  AskWake(trial.not_before);
  SetState(study, trial, TrialState::kWaiting);
  Enqueue(study, trial);
}

void Engine::Close(Study& study, Trial& trial, TrialState state) {
  std::erase(study.waiting, trial.id);
  SetState(study, trial, state);
  if (state != TrialState::kStopped) EndSearch(study, trial, state == TrialState::kFailed);
  CountOver(study, trial);
}

// A study is not worth its time if its trials fail one after another: running trials then save and
// leave. If the file does not say how many may fail, that is when the first few trials all failed
// without a report.
void Engine::CountOver(Study& study, const Trial& trial) {
  constexpr std::uint32_t kFirst = 5;
  const bool failed = trial.state == TrialState::kFailed;
  ++study.over;
  study.failed += failed ? 1 : 0;
  study.fruitless += failed && trial.reports == 0 ? 1 : 0;
  if (!failed || study.rules < 2) return;
  const auto most = static_cast<std::uint32_t>(study.spec.max_failures);
  if (most > 0 ? study.failed >= most : study.over == kFirst && study.fruitless == kFirst)
    End(study, Finish::kFailures);
}

// Tells the stopper of an end that it did not rule itself.
void Engine::EndSearch(Study& study, Trial& trial, bool failed) {
  if (trial.exempt) return;
  for (const Ruling& ruling : study.stopper->End(trial.id, failed)) Follow(study, ruling);
}

}  // namespace sluice
