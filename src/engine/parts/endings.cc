#include "engine/parts/endings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/planted.h"
#include "engine/parts/note.h"

namespace sluice {
namespace {

// Whether a launch did exactly what it was told at its start: its program could not know that its
// trial now has a further target. A program that went past its target ended by itself, unless it
// was told the budget.
bool DidAsTold(const Study& study, const Trial& trial) {
  const bool at_least = study.tells_budget || study.rules < 2 || Planted("end-again");
  return at_least ? trial.launch.work >= trial.launch.target
                  : trial.launch.work == trial.launch.target;
}

// Whether a launch that ended well had nothing to do because its checkpoint is ahead of all
// reports. The reports in between were lost with an earlier launch.
bool IsAhead(const Trial& trial, const LaunchEnded& event) {
  const bool idle = event.ending == Ending::kDone && trial.launch.reports == 0;
  if (!idle || trial.restarted || Number(trial.launch.id) < 2 || event.checkpoint_bytes <= 0)
    return false;
  const bool short_of_target = trial.target != kNoLimit && trial.work < trial.target;
  return event.checkpoint_work > trial.work ||
         (event.checkpoint_work == 0 && trial.lost && short_of_target);
}

// Whether a launch that ran into a time-out may not be to blame: it was handed back, or its process
// died while it carried other launches too, or the machine could not start it.
bool IsBlameless(const Study& study, const LaunchEnded& event) {
  if (event.ending == Ending::kNotStarted) return study.rules >= 4;
  return event.ending == Ending::kReleased || event.ending == Ending::kBundleLost;
}

// Whether a process handed back a launch although it carried no other. The next process would do
// the same.
bool IsRefusedAlone(const Trial& trial, const LaunchEnded& event, int neighbours) {
  return event.ending == Ending::kReleased && event.position.seq != 0 && neighbours == 0 &&
         trial.launch.reports == 0 && !trial.leaving;
}

}  // namespace

void Endings::EndLaunch(Study& study, Trial& trial, const LaunchEnded& event) {
  if (!(Planted("lost-grant") && event.ending == Ending::kLost))
    state_.Release(study, trial.launch.grant);
  speed_meter_.MeasureAnew(trial.launch.grant.bundle);
  const int neighbours = CountNeighbours(study, trial, event);
  trial.launch.grant = {};
  const Duration took = state_.now - trial.launch.started;
  trial.busy += took;
  study.launch_took.Learn(took);
  trial.ended = state_.now;
  if (trial.leaving && event.ending == Ending::kPaused && trial.leave_sent != kNever) {
    // Capped at the grace period, since the machine may have slept meanwhile.
    const Duration leaving = std::min(state_.now - trial.leave_sent, study.spec.timeouts.grace);
    study.leave_known = true;
    study.leave = std::max(leaving, study.leave * 9 / 10);
    if (study.ending == Finish::kNot) state_.AskWake(study, study.stops_at());
  }
  std::erase(study.running, trial.id);
  if (event.checkpoint_bytes >= 0) checkpoints_.SetBytes(study, trial, event.checkpoint_bytes);
  if (IsRefusedAlone(trial, event, neighbours)) {
    Fail(study, trial, "its process handed it back, though it had no other trial");
  } else {
    Settle(study, trial, event);
  }
  trial.leaving = false;
  checkpoints_.AskCopiesOf(study, trial.id);
  checkpoints_.Bound(study);
  study.replan = true;
}

// Returns how many other launches are in the process of the launch that ended. Records what this
// end says about the process's capacity, and whether the trial may have made its process die.
int Endings::CountNeighbours(Study& study, Trial& trial, const LaunchEnded& event) {
  const int neighbours = static_cast<int>(state_.BundleOf(study, trial).size()) - 1;
  if (event.ending == Ending::kReleased && event.position.seq != 0 && neighbours > 0) {
    // The process has room for no more than it keeps, unless it says otherwise later.
    state_.SetCapacity(study, trial, std::min(trial.launch.capacity, neighbours));
  }
  if (event.ending == Ending::kPaused || event.ending == Ending::kDone) trial.lost_bundles = 0;
  // A trial that was asked to leave because of another trial in its process is not suspected.
  const bool suspect = !trial.leaving || trial.leave_reason == StopReason::kLease ||
                       trial.leave_reason == StopReason::kTimeout;
  if (event.ending == Ending::kBundleLost && suspect && !Planted("never-alone"))
    ++trial.lost_bundles;
  return neighbours;
}

void Endings::LoseLaunchesOnLostNodes() {
  for (auto& study : state_.studies) {
    for (TrialId id : std::vector<TrialId>(study->running)) {
      Trial& trial = study->trial(id);
      const Node& node = state_.cluster.node(trial.launch.grant.node);
      if (node.up) continue;
      EndLaunch(*study, trial,
                LaunchEnded{.trial = {study->id, id},
                            .launch = trial.launch.id,
                            .position = {},
                            .ending = Ending::kLost,
                            .reason = fmt::format("node '{}' was lost", node.name),
                            .checkpoint_bytes = -1});
    }
  }
  // The end of one launch may have caused a command to another launch, which was then lost too. No
  // process is left to receive that command.
  std::erase_if(state_.commands, [this](const Command& command) {
    return std::visit(
        [this](const auto& each) {
          if constexpr (requires { each.launch; })
            return state_.Admit(each.trial, each.launch, {}) != Admission::kNew;
          return false;
        },
        command);
  });
}

// Decides what an ended launch means for its trial.
void Endings::Settle(Study& study, Trial& trial, const LaunchEnded& event) {
  if (trial.leaving) {
    switch (trial.leave_reason) {
      case StopReason::kComplete: return judge_.Close(study, trial, TrialState::kComplete);
      case StopReason::kStopped: return judge_.Close(study, trial, TrialState::kStopped);
      case StopReason::kStudy:
        judge_.Close(study, trial, TrialState::kStopped);
        return judge_.EndSearch(study, trial, /*failed=*/true);  // the stopper does not know yet
      case StopReason::kPaused: return state_.SetState(study, trial, TrialState::kPaused);
      case StopReason::kTimeout:
      case StopReason::kLease:
        if (trial.work >= study.spec.stopper.max_budget)
          return judge_.Close(study, trial, TrialState::kComplete);
        if (IsBlameless(study, event)) break;
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
  const bool vanished = event.ending == Ending::kLost || event.ending == Ending::kBundleLost;
  trial.lost = trial.lost || vanished;
  if (yielded || more_to_do || vanished || event.ending == Ending::kPaused ||
      event.ending == Ending::kReleased)
    return PutBack(study, trial, event.reason);
  if (IsAhead(trial, event) && !Planted("ahead-complete")) return BeginAgain(study, trial);
  if (event.ending == Ending::kStopped) {
    judge_.Close(study, trial, TrialState::kStopped);
    return judge_.EndSearch(study, trial, /*failed=*/true);
  }
  if (event.ending == Ending::kFailed || event.ending == Ending::kNotStarted)
    return Fail(study, trial, event.reason);
  if (trial.HasResult()) return judge_.Close(study, trial, TrialState::kComplete);
  // Another run would give the same result, so this failure is final.
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

// Removes the checkpoint that is ahead, so that the trial starts again from scratch. A trial does
// this only once.
void Endings::BeginAgain(Study& study, Trial& trial) {
  trial.restarted = true;
  checkpoints_.Remove(study, trial);
  PutBack(study, trial, "its checkpoint was ahead of what it had reported: it began again");
}

// Queues the trial, to go on later. This does not count as a failure.
void Endings::PutBack(Study& study, Trial& trial, std::string_view reason) {
  // The note of a fork says where the fork comes from, until there is something else to say.
  if (!reason.empty() || !trial.IsFork()) trial.note = NoteOf(reason);
  state_.SetState(study, trial, TrialState::kWaiting);
  study.Enqueue(trial);
}

// The machine failed, not the trial. Nothing more is started for a while. If that does not help,
// the study pauses: programs that speak the protocol save and leave, and the others run to their
// end.
void Endings::HoldStarts(Study& study, std::string_view reason) {
  constexpr std::uint32_t kMostFailedStarts = 3;
  constexpr Duration kFirstHold = std::chrono::milliseconds(500);
  if (state_.now < study.hold_until) return;  // this start belongs to the same round
  if (++study.failed_starts > kMostFailedStarts) {
    study.pause = NoteOf(reason);
    return departures_.Pause(study, StopReason::kYield);
  }
  study.hold_until = state_.now + kFirstHold * (1LL << (study.failed_starts - 1));
  state_.AskWake(study, study.hold_until);
}

void Endings::Fail(Study& study, Trial& trial, std::string_view reason) {
  const bool at_start = trial.IsFork() && trial.reports == 0 && trial.forked_at > 0;
  trial.note =
      at_start && study.rules >= 2
          ? NoteOf(fmt::format("a fork that could not go on from trial {}'s checkpoint: {}",
                               Number(trial.parent), reason))
          : NoteOf(reason);
  if (!Planted("endless-retries")) ++trial.failures;
  if (trial.failures > static_cast<std::uint32_t>(study.spec.retries)) {
    return judge_.Close(study, trial, TrialState::kFailed);
  }
  trial.not_before =
      state_.now + study.spec.backoff * (1LL << std::min<std::uint32_t>(trial.failures - 1, 16));
  state_.AskWake(study, trial.not_before);
  state_.SetState(study, trial, TrialState::kWaiting);
  study.Enqueue(trial);
}

}  // namespace sluice
