// How the engine turns free devices into running trials, and when a study ends.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/planted.h"
#include "engine/engine.h"

namespace sluice {
namespace {

// Whether the launch is leaving for another reason than kYield and kDrain, after which the trial
// would wait for a new place.
bool IsEnding(const Trial& trial) {
  return trial.leaving && trial.leave_reason != StopReason::kYield &&
         trial.leave_reason != StopReason::kDrain;
}

// Whether the launch can be told to leave, since it speaks the protocol, and has reported new work.
bool CanBeMoved(const Trial& trial) { return trial.seq > 0 && trial.launch_work > 0; }

// Whether a stopper may stop trials before the full budget.
bool IsJudged(const Study& study) { return study.spec.stopper.name != "none"; }

int CountEnding(const Study& study) {
  return static_cast<int>(
      std::ranges::count_if(study.running, [&](TrialId id) { return IsEnding(study.trial(id)); }));
}

double BestLoss(const Study& study) {
  if (!IsSet(study.best)) return std::numeric_limits<double>::quiet_NaN();
  return study.spec.objective.Loss(study.trial(study.best).result);
}

}  // namespace

// A study that ends at its deadline, or because too many trials failed, does not wait for launches
// that yield: kPaused forces them out after the grace period, kYield does not.
StopReason ToldReason(const Study& study, const Trial& trial) {
  const bool ends = study.ending == Finish::kDeadline || study.ending == Finish::kFailures;
  const bool late = ends && trial.leave_reason == StopReason::kYield;
  return late ? StopReason::kPaused : trial.leave_reason;
}

// How many more trials the study may make, besides those with proposals on their way.
int Engine::Left(const Study& study) const {
  if (!study.spec.transfer.empty()) return ToTransfer(study) != nullptr ? 1 : 0;
  return study.exhausted ? static_cast<int>(study.queue.size()) : study.room();
}

// Whether the study could use room for another trial. A study that transfers has no paused trials
// to resume, so it needs a point to transfer.
bool Engine::MayMakeMore(const Study& study) const {
  return study.spec.transfer.empty() || ToTransfer(study) != nullptr;
}

// Whether the study still goes on. Its waiting trials may start and new ones be made, unless the
// engine drains: nothing is planned then.
bool Engine::Open(const Study& study) { return study.ending == Finish::kNot; }

// Whether starts are held back, since the machine has just failed to start a launch of this study.
bool Engine::Holds(const Study& study) const { return study.hold_until > now_; }

void Engine::Replan() {
  for (auto& study : studies_) {
    if (!study->finished && now_ >= study->stops_at() && !Planted("late-start"))
      End(*study, Finish::kDeadline);
    CloseIfAllMade(*study);
  }
  replan_ = false;
  for (auto& study : studies_) study->has_enough_room = false;
  bool planned_all = draining_ || cluster_.nodes().empty();
  while (!planned_all) {
    const Plan plan = policy_->Propose(cluster_, View(), now_);
    StartPlaced(plan);
    // A time that has come needs no wake-up: the policy has just been asked.
    if (plan.ask_again > now_) AskWake(plan.ask_again);
    planned_all = true;
    for (const WantedRoom& wanted : plan.wanted_room) {
      Study& study = *FindStudy(wanted.study);
      const bool had_enough_room = study.has_enough_room;
      if (Feed(study, wanted.trials)) planned_all = false;
      // Room that this study leaves is for the other studies, and for trials that can be wider.
      const bool others = studies_.size() > 1 || policy_->LooksAtRunning();
      if (study.has_enough_room && !had_enough_room && others) planned_all = false;
    }
  }
  bool leader_finished = false;  // the leader of a study that transfers has just finished
  for (auto& study : studies_) {
    const bool was = study->finished;
    FinishIfIdle(*study);
    leader_finished = leader_finished || (study->finished && !was && IsFollowed(*study));
  }
  if (leader_finished) Replan();
}

// The forecast of a trial, or of one that has not begun if `trial` is not set. Forecasts are worth
// the time they take only where there is a deadline.
const Forecast* Engine::ForecastOf(Study& study, TrialId trial) const {
  if (!policy_->LooksAtForecasts() || study.stops_at() == kNever) return nullptr;
  return IsSet(trial) ? &study.forecasts.Of(trial) : &study.forecasts.Fresh();
}

const WorkView& Engine::View() {
  WorkView& view = view_;
  view.items.clear();
  view.studies.clear();
  view.speeds = &speeds_;
  for (const auto& study : studies_) {
    if (study->finished || !policy_->LooksAtRunning()) continue;
    for (TrialId id : study->running) {
      const Trial& trial = study->trial(id);
      if (IsEnding(trial)) continue;
      view.items.push_back({.trial = {study->id, id},
                            .group = trial.group,
                            .demand = study->spec.demand,
                            .done = trial.work,
                            .target = trial.target,
                            .shape = study->spec.name,
                            .width = trial.width,
                            .running = true,
                            .leaving = trial.leaving,
                            .movable = CanBeMoved(trial),
                            .loss = study->spec.objective.Loss(trial.value),
                            .launch_reports = trial.launch_reports,
                            .heard = trial.heard,
                            .pace = trial.pace,
                            .forecast = ForecastOf(*study, id),
                            .grant = &trial.grant});
    }
  }
  for (const auto& study : studies_) {
    if (study->finished) continue;
    int waiting = 0;
    int not_ready = 0;
    for (TrialId id : study->waiting) {
      const Trial& trial = study->trial(id);
      if (!Open(*study) || Holds(*study) || trial.not_before > now_ || !trial.CanStart()) {
        ++not_ready;
        continue;
      }
      ++waiting;
      view.items.push_back({.trial = {study->id, id},
                            .group = trial.group,
                            .demand = study->spec.demand,
                            .done = trial.work,
                            .target = trial.target,
                            .shape = study->spec.name,
                            .width = trial.width,
                            .admitted = IsSet(trial.launch) && !trial.resumed,
                            .loss = study->spec.objective.Loss(trial.value),
                            .since = std::max(trial.created, trial.heard),
                            .pace = trial.pace,
                            .forecast = ForecastOf(*study, id)});
    }
    view.studies.push_back(
        {.study = study->id,
         .demand = study->spec.demand,
         .parallelism = study->spec.parallelism,
         .shape = study->spec.name,
         .deadline = study->stops_at(),
         .max_budget = study->spec.stopper.max_budget,
         .typical_work = study->typical_work,
         .eta = study->spec.stopper.eta,
         .furthest = study->furthest,
         .start_up = Duration(static_cast<std::int64_t>(study->start_up.seconds * 1e6)),
         .start_up_known = study->start_up.count > 0,
         .leaving = study->leave,
         .leaving_known = study->leave_known,
         .running = static_cast<int>(study->running.size()),
         .ending = policy_->LooksAtRunning() ? CountEnding(*study) : 0,
         .waiting = waiting,
         .coming = static_cast<int>(study->asked - study->answered),
         .paused = static_cast<int>(study->count(TrialState::kPaused)),
         .not_ready = not_ready,
         .judged = IsJudged(*study),
         .ends_when_good_enough = !study->spec.stop_at.empty(),
         .all_go_on = study->stopper->Gathers(),
         .open = Open(*study) && !Holds(*study) && !study->has_enough_room && MayMakeMore(*study),
         .left = Left(*study),
         .best = BestLoss(*study),
         .fresh = ForecastOf(*study, TrialId{}),
         .weight = study->spec.weight,
         .leader_progress = LeaderProgress(*study)});
  }
  return view;
}

// A trial that is not where the plan wants it saves and leaves, and is placed anew once it has
// left. It is not moved before it has reported new work (CanBeMoved), whatever the plan says.
// Otherwise a policy that changes its mind could start and stop it for ever, all at one moment.
void Engine::YieldMisplaced(const Plan& plan) {
  std::vector<const Placement*> placed;
  for (const Placement& placement : plan.placements) placed.push_back(&placement);
  std::ranges::sort(placed, {}, &Placement::trial);
  for (auto& study : studies_) {
    for (TrialId id : study->running) {
      Trial& trial = study->trials[Number(id) - 1];
      if (trial.leaving || !CanBeMoved(trial)) continue;
      const auto found =
          std::ranges::lower_bound(placed, TrialKey{study->id, id}, {}, &Placement::trial);
      const bool stays = found != placed.end() && (*found)->trial == TrialKey{study->id, id} &&
                         (*found)->grant == trial.grant;
      if (!stays) Leave(*study, trial, StopReason::kYield);
    }
  }
}

// Stops a trial that the plan gives up. Where a stopper judges, only the stopper may do so.
void Engine::GiveUp(Study& study, TrialId id) {
  Trial& trial = study.trials[Number(id) - 1];
  if (trial.state != TrialState::kRunning || trial.leaving || !CanBeMoved(trial)) return;
  if (IsJudged(study)) return;
  trial.note = "given up: others are expected to be better";
  Leave(study, trial, StopReason::kStopped);
}

// Carries out the difference between the plan and what runs: releases before grants.
void Engine::StartPlaced(const Plan& plan) {
  for (const SettledWidth& settled : plan.widths)
    FindStudy(settled.trial.study)->trials[Number(settled.trial.trial) - 1].width = settled.width;
  for (const TrialKey& key : plan.given_up) GiveUp(*FindStudy(key.study), key.trial);
  if (!plan.keeps_running) YieldMisplaced(plan);
  for (const Placement& placement : plan.placements) {
    Study& study = *FindStudy(placement.trial.study);
    Trial& trial = study.trials[Number(placement.trial.trial) - 1];
    if (trial.state != TrialState::kWaiting || !cluster_.Fits(placement.grant)) continue;
    cluster_.Take(placement.grant);
    MeasureAnew(placement.grant.bundle);
    std::erase(study.waiting, trial.id);
    study.running.push_back(trial.id);
    SetState(study, trial, TrialState::kRunning);
    trial.grant = placement.grant;
    trial.launch = LaunchId(Number(trial.launch) + 1);
    trial.seq = 0;
    trial.offset = 0;
    trial.launch_work = 0;
    trial.launch_reports = 0;
    trial.to_first = {};
    trial.window = kNever;
    trial.resumed = false;
    trial.launch_target = trial.target;
    trial.started = now_;
    trial.heard = now_;
    // It is not known whether an earlier Evict was carried out before the last controller died.
    if (trial.evicted && !Planted("late-eviction")) commands_.push_back(Evict{placement.trial});
    commands_.push_back(
        Start{placement.trial, trial.launch, trial.grant, trial.work, trial.target});
    if (study.spec.timeouts.trial.count() > 0) AskWake(now_ + study.spec.timeouts.trial);
    if (study.spec.timeouts.report.count() > 0) AskWake(now_ + study.spec.timeouts.report);
  }
}

// Finds more work for a study that has room. Paused trials worth resuming come first, then new
// trials: enqueued points before proposals of the sampler. True if trials now wait that the plan
// did not know of. A study that finds less than it has room for has enough room (has_enough_room).
bool Engine::Feed(Study& study, int wanted) {
  if (!study.spec.transfer.empty()) {
    study.has_enough_room = true;
    return Transfer(study);
  }
  wanted -= static_cast<int>(study.asked - study.answered);
  bool found = false;
  while (wanted > 0) {
    if (const auto group = study.stopper->Next()) {
      const std::size_t before = study.waiting.size();
      Resume(study, *group);
      wanted -= static_cast<int>(study.waiting.size() - before);
      found = found || study.waiting.size() > before;
      continue;
    }
    if (study.room() == 0) break;
    if (!study.queue.empty()) {
      MakeTrial(study, std::move(study.queue.front())).enqueued = true;
      study.queue.pop_front();
      CloseIfAllMade(study);
      found = true;
    } else if (study.exhausted) {
      break;
    } else {
      commands_.push_back(Propose{study.id, study.asked++});
    }
    --wanted;
  }
  if (wanted > 0) study.has_enough_room = true;
  return found;
}

void Engine::Resume(Study& study, const TrialGroup& group) {
  const bool gathers = study.stopper->Gathers();
  if (!gathers) ++study.groups;
  for (const Advance& member : group.members) {
    Trial& trial = study.trials[Number(member.trial) - 1];
    trial.group = GroupId(study.groups);
    SetTarget(trial, member.target);
    if (gathers) JoinGroup(study, trial);
    trial.resumed = true;
    if (trial.leaving) {
      trial.leave_reason = StopReason::kYield;  // still on its way out: it waits once it has left
      continue;
    }
    SetState(study, trial, TrialState::kWaiting);
    Enqueue(study, trial);
  }
}

// When the deadline comes, or too many trials have failed, every running trial saves and leaves. It
// goes on if the study is resumed.
void Engine::SaveAll(Study& study) {
  for (TrialId id : study.running) {
    Trial& trial = study.trials[Number(id) - 1];
    if (!IsEnding(trial)) SaveAndComeBack(study, trial);
  }
}

// No new work of this study. Its running trials are stopped, or saved for later.
void Engine::End(Study& study, Finish reason) {
  if (study.ending != Finish::kNot && reason != Finish::kAsked) return;
  study.ending = reason;
  replan_ = true;
  if (reason == Finish::kDeadline || reason == Finish::kFailures) return SaveAll(study);
  for (TrialId id : study.running) {
    Trial& trial = study.trials[Number(id) - 1];
    if (!IsEnding(trial)) Leave(study, trial, StopReason::kStudy);
  }
}

// Tells the stopper when no more trials will come, as far as is known: a study that is resumed or
// gets more trials goes on with new ones. A proposal that is on its way will be a trial.
void Engine::CloseIfAllMade(Study& study) {
  if (study.asked != study.answered || (study.ending == Finish::kNot && !AllMade(study))) return;
  if (Planted("never-closed")) return;
  for (const Ruling& ruling : study.stopper->Closed()) Follow(study, ruling);
}

void Engine::FinishIfIdle(Study& study) {
  if (study.finished || !study.running.empty()) return;
  if (study.ending == Finish::kNot) {
    if (!AllMade(study) || (!study.waiting.empty() && !Planted("early-end")) ||
        study.asked != study.answered)
      return;
    if (draining_ || cluster_.nodes().empty()) return;
    // A study that had no room has not asked yet whether a paused trial is worth resuming.
    if (study.count(TrialState::kPaused) > 0 && !study.has_enough_room) return;
    study.ending = study.exhausted && study.proposed() < study.trials_wanted ? Finish::kExhausted
                                                                             : Finish::kTrials;
  }
  study.finished = true;
  commands_.push_back(StudyFinished{study.id});
}

void Engine::CheckTimeouts(Study& study) {
  const Timeouts& limits = study.spec.timeouts;
  for (TrialId id : study.running) {
    Trial& trial = study.trials[Number(id) - 1];
    if (IsDecided(trial) || (trial.leaving && trial.leave_reason == StopReason::kTimeout)) continue;
    const bool too_long = limits.trial.count() > 0 && now_ >= trial.started + limits.trial;
    const bool too_quiet = limits.report.count() > 0 && now_ >= trial.heard + limits.report;
    if (!too_long && !too_quiet) continue;
    trial.note =
        too_long
            ? fmt::format("ran longer than its time-out of {}", FormatDuration(limits.trial))
            : fmt::format("no report within its time-out of {}", FormatDuration(limits.report));
    Leave(study, trial, StopReason::kTimeout);
  }
}

void Engine::AskWakes(const Study& study) {
  if (study.finished) return;
  if (study.ending == Finish::kNot && study.stops_at() > now_) AskWake(study.stops_at());
  if (Holds(study)) AskWake(study.hold_until);
  for (TrialId id : study.waiting) {
    if (study.trial(id).not_before > now_) AskWake(study.trial(id).not_before);
  }
  const Timeouts& limits = study.spec.timeouts;
  for (TrialId id : study.running) {
    const Trial& trial = study.trial(id);
    if (IsDecided(trial) || (trial.leaving && trial.leave_reason == StopReason::kTimeout)) continue;
    if (limits.trial.count() > 0) AskWake(trial.started + limits.trial);
    if (limits.report.count() > 0) AskWake(trial.heard + limits.report);
  }
}

void Engine::AskWake(Time time) {
  if (time >= next_wake_) return;
  next_wake_ = time;
  commands_.push_back(WakeAt{time});
}

void Engine::SetSaved(Study& study, Trial& trial, std::int64_t bytes) {
  study.checkpoint_bytes += bytes - trial.saved_bytes;
  trial.saved_bytes = bytes;
  if (bytes > 0) trial.evicted = false;
  if (bytes == 0) {
    study.saved.erase(trial.id);
  } else {
    study.saved.insert(trial.id);
  }
}

// Keeps the checkpoints of a study within its cap. Evicts those of ended trials first, the earliest
// ended first, but not that of the best trial. Then it evicts those of paused and waiting trials,
// the cheapest to train again first.
void Engine::BoundCheckpoints(Study& study) {
  const auto cost = [&](const Trial& trial) {
    const bool needed = trial.state == TrialState::kPaused || trial.state == TrialState::kWaiting;
    if (!needed) return std::pair(needed, Micros(trial.ended));
    const Duration before = trial.IsFork() ? study.trial(trial.parent).busy : Duration(0);
    return std::pair(needed, (trial.busy + before).count());
  };
  while (study.checkpoint_bytes > study.spec.checkpoint_cap_bytes) {
    Trial* cheapest = nullptr;
    for (TrialId id : study.saved) {
      Trial& trial = study.trials[Number(id) - 1];
      const bool held = trial.state == TrialState::kRunning || id == study.best;
      if (!held && (cheapest == nullptr || cost(trial) < cost(*cheapest))) cheapest = &trial;
    }
    if (cheapest == nullptr) return;
    SetSaved(study, *cheapest, 0);
    cheapest->saved_work = 0;
    cheapest->evicted = true;
    Changed(study, *cheapest);
    if (cheapest->IsFork() && cheapest->reports == 0)
      BeginAnew(study, *cheapest, "its copy was removed to keep the checkpoint_cap");
    commands_.push_back(Evict{{study.id, cheapest->id}});
  }
}

std::vector<Command> Engine::Unfinished() const {
  std::vector<Command> commands;
  for (const auto& study : studies_) {
    for (std::uint64_t counter = study->answered; counter < study->asked; ++counter) {
      if (!Planted("lost-proposal")) commands.push_back(Propose{study->id, counter});
    }
    for (const Trial& trial : study->trials) {
      if (trial.awaits_parameters)
        commands.push_back(Propose{.study = study->id, .fork = trial.id, .parent = trial.parent});
      if (trial.copying == Copying::kAsked) commands.push_back(CopyOf(*study, trial));
    }
    for (TrialId id : study->running) {
      const Trial& trial = study->trial(id);
      commands.push_back(
          Start{{study->id, id}, trial.launch, trial.grant, trial.work, trial.target});
      if (trial.leaving)
        commands.push_back(StopLaunch{{study->id, id}, trial.launch, ToldReason(*study, trial)});
    }
    for (const Trial& trial : study->trials) {
      if (trial.evicted && trial.state != TrialState::kRunning)
        commands.push_back(Evict{{study->id, trial.id}});
    }
  }
  return commands;
}

}  // namespace sluice
