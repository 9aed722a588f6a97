#include "engine/parts/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/planted.h"

namespace sluice {

void Planner::Replan() {
  std::set<StudyId> wanted;
  for (auto& study : state_.studies) {
    if (std::exchange(study->replan, false)) wanted.insert(study->id);
  }
  if (wanted.empty()) return;
  for (auto& study : state_.studies) {
    // The timer of its deadline may be late: an event of another study comes before it.
    const bool is_late = !study->finished && state_.now >= study->stops_at();
    if (state_.only_policy == nullptr && !is_late && !wanted.contains(study->id)) continue;
    if (is_late && !Planted("late-start")) departures_.EndStudy(*study, Finish::kDeadline);
    judge_.CloseIfAllMade(*study);
    study->replan = false;
  }
  for (auto& study : state_.studies) study->has_enough_room = study->declined = false;
  if (!state_.draining && !state_.cluster.nodes().empty()) {
    if (state_.only_policy != nullptr) {
      PlanTogether();
    } else {
      PlanApart(std::move(wanted));
    }
  }
  bool again = false;
  for (auto& study : state_.studies) {
    if (FinishIfIdle(*study)) again = transfers_.PlanFollowers(*study) || again;
  }
  if (again) Replan();
}

// One policy plans all studies on the whole cluster.
void Planner::PlanTogether() {
  Studies all;
  for (auto& study : state_.studies) {
    if (!study->finished && !study->paused) all.push_back(study.get());
  }
  if (all.empty()) return;
  while (PlanOnce(*state_.only_policy, state_.cluster, all)) continue;
}

// Whether a launch leaves so that its trial is placed again.
bool Planner::AnyMoves(const Study& study) {
  return std::ranges::any_of(study.running, [&](TrialId id) {
    const Trial& trial = study.trial(id);
    return trial.leaving && trial.leave_reason == StopReason::kYield;
  });
}

// Each study is planned by its own policy, on its part of the cluster: the studies that want a
// plan, and those that room is kept for. A study that does nothing with its room leaves it to the
// others.
void Planner::PlanApart(std::set<StudyId> wanted) {
  for (auto& study : state_.studies) {
    if (wanted.contains(study->id)) ReplaceInTraining(*study);
    if (divider_.MayBorrow(*study)) wanted.insert(study->id);
    if (divider_.IsAtItsEnd(*study)) study->has_enough_room = true;
  }
  bool again = true;
  while (again) {
    again = false;
    const Division division = divider_.Divide();
    for (auto& study : state_.studies) {
      const bool has_room = division.IsFor(study->id);
      if (study->finished || study->paused || (!has_room && !wanted.contains(study->id))) continue;
      // Without room, only what runs could be planned differently.
      if (division.is_shared() && !has_room && !study->policy->LooksAtRunning()) continue;
      const std::size_t before = state_.commands.size();
      bool more = false;
      if (!division.is_shared() && study->hidden.empty()) {
        more = PlanOnce(*study->policy, state_.cluster, {study.get()});
      } else {
        Cluster part = division.PartOf(state_.cluster, *study);
        more = PlanOnce(*study->policy, part, {study.get()});
      }
      if (!more) wanted.erase(study->id);
      // Room is kept for a study while its proposals are on their way, or its trials move.
      const bool did_something = more || state_.commands.size() != before;
      const bool waits = study->asked != study->answered || AnyMoves(*study);
      study->declined = has_room && !did_something && !waits;
      again = again || did_something || study->declined;
      if (did_something) break;  // what is left is divided again
    }
  }
}

// Asks the policy for a plan for these studies on this cluster, which is all or a part of the
// whole, and carries it out. Returns whether there is more to plan: trials were added, or a study
// leaves room.
bool Planner::PlanOnce(Policy& policy, Cluster& cluster, const Studies& studies) {
  const Plan plan = policy.Propose(cluster, viewer_.View(policy, studies), state_.now);
  StartPlaced(plan, cluster, studies);
  // A time that has come needs no wake-up: the policy has just been asked.
  if (plan.ask_again > state_.now) {
    for (Study* study : studies) state_.AskWake(*study, plan.ask_again);
  }
  bool again = false;
  for (const WantedRoom& wanted : plan.wanted_room) {
    Study& study = state_.study(wanted.study);
    const bool had_enough_room = study.has_enough_room;
    if (Feed(study, wanted.trials)) again = true;
    // Devices that this study leaves free can go to other studies, or make other trials wider. So
    // the policy is asked again.
    const bool others = studies.size() > 1 || policy.LooksAtRunning();
    if (study.has_enough_room && !had_enough_room && others) again = true;
  }
  return again;
}

// Carries out the difference between the plan and what runs. Trials are told to leave before others
// are started.
void Planner::StartPlaced(const Plan& plan, Cluster& cluster, const Studies& studies) {
  for (const SettledWidth& settled : plan.widths) state_.trial(settled.trial).width = settled.width;
  for (const TrialKey& key : plan.given_up) GiveUp(state_.study(key.study), key.trial);
  if (!plan.keeps_running) YieldMisplaced(plan, studies);
  for (const Placement& placement : plan.placements) {
    Study& study = state_.study(placement.trial.study);
    Trial& trial = study.trial(placement.trial.trial);
    if (trial.state != TrialState::kWaiting || !cluster.Fits(placement.grant) ||
        !HasRoom(study, placement.grant.bundle))
      continue;
    StartLaunch(study, trial, placement.grant);
    if (&cluster != &state_.cluster) cluster.Take(placement.grant);
  }
}

// Whether the process of this bundle takes another launch, as far as the process has said.
bool Planner::HasRoom(const Study& study, BundleId bundle) const {
  const int capacity = CapacityOf(study, bundle);
  return capacity == 0 || state_.cluster.BundleSize(bundle) < capacity;
}

// The capacity that the process of a bundle has stated; 0: none, or there is no such bundle.
int Planner::CapacityOf(const Study& study, BundleId bundle) {
  if (!IsSet(bundle)) return 0;
  for (const TrialId id : study.running) {
    const Launch& launch = study.trial(id).launch;
    if (launch.grant.bundle == bundle) return launch.capacity;
  }
  return 0;
}

void Planner::StartLaunch(Study& study, Trial& trial, const Grant& grant) {
  const TrialKey key{study.id, trial.id};
  const int capacity = CapacityOf(study, grant.bundle);
  state_.Take(study, grant);
  speed_meter_.MeasureAnew(grant.bundle);
  std::erase(study.waiting, trial.id);
  study.running.push_back(trial.id);
  state_.SetState(study, trial, TrialState::kRunning);
  trial.launch = Launch{.id = LaunchId(Number(trial.launch.id) + 1),
                        .grant = grant,
                        .target = trial.target,
                        .started = state_.now,
                        .heard = state_.now,
                        .capacity = capacity};
  trial.pace.since = kNever;
  trial.resumed = false;
  // The last controller may have died before it carried out an earlier Evict.
  if (trial.evicted && !Planted("late-eviction")) state_.commands.push_back(Evict{key});
  state_.commands.push_back(
      Start{key, trial.launch.id, trial.launch.grant, trial.work, trial.target});
  const Timeouts& limits = study.spec.timeouts;
  if (limits.trial.count() > 0) state_.AskWake(study, state_.now + limits.trial);
  if (limits.report.count() > 0) state_.AskWake(study, state_.now + limits.report);
}

// A trial that is not where the plan wants it saves and leaves. It is placed again once its launch
// has left. A trial is not moved before its launch has reported new work (Launch::CanBeMoved),
// whatever the plan says. Otherwise a policy whose plans keep changing could start and stop the
// trial for ever without any time passing.
void Planner::YieldMisplaced(const Plan& plan, const Studies& studies) {
  std::vector<const Placement*> placed;
  for (const Placement& placement : plan.placements) placed.push_back(&placement);
  std::ranges::sort(placed, {}, &Placement::trial);
  for (Study* study : studies) {
    for (TrialId id : study->running) {
      Trial& trial = study->trial(id);
      if (trial.leaving || !trial.launch.CanBeMoved()) continue;
      const auto found =
          std::ranges::lower_bound(placed, TrialKey{study->id, id}, {}, &Placement::trial);
      const bool stays = found != placed.end() && (*found)->trial == TrialKey{study->id, id} &&
                         (*found)->grant == trial.launch.grant;
      if (!stays) departures_.Leave(*study, trial, StopReason::kYield);
    }
  }
}

// Stops a trial that the plan gives up. In a study with a stopper, only the stopper may do so.
void Planner::GiveUp(Study& study, TrialId id) {
  Trial& trial = study.trial(id);
  if (trial.state != TrialState::kRunning || trial.leaving || !trial.launch.CanBeMoved()) return;
  if (study.IsJudged()) return;
  trial.note = "given up: others are expected to be better";
  departures_.Leave(study, trial, StopReason::kStopped);
}

// Finds more work for a study that has room. Paused trials worth resuming come first, then new
// trials: enqueued points before proposals of the sampler. Returns true if it added waiting trials,
// which the present plan could not place. Sets has_enough_room if it found less than `wanted`, or
// if the study transfers.
bool Planner::Feed(Study& study, int wanted) {
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
      state_.MakeTrial(study, std::move(study.queue.front())).enqueued = true;
      study.queue.pop_front();
      judge_.CloseIfAllMade(study);
      found = true;
    } else if (study.exhausted) {
      break;
    } else {
      state_.commands.push_back(Propose{study.id, study.asked++});
    }
    --wanted;
  }
  if (wanted > 0) study.has_enough_room = true;
  return found;
}

void Planner::Resume(Study& study, const TrialGroup& group) {
  const bool gathers = study.stopper->Gathers();
  if (!gathers) ++study.groups;
  for (const Advance& member : group.members) {
    Trial& trial = study.trial(member.trial);
    trial.group = GroupId(study.groups);
    trial.SetTarget(member.target);
    if (gathers) study.JoinGroup(trial);
    trial.resumed = true;
    if (trial.leaving) {
      trial.leave_reason = StopReason::kYield;  // it is queued once its launch has left
      continue;
    }
    state_.SetState(study, trial, TrialState::kWaiting);
    study.Enqueue(trial);
  }
}

// A study that transfers may have no other room than that of the trial that it is to replace. So
// that trial makes way before room is looked for.
void Planner::ReplaceInTraining(Study& study) {
  const bool trains = !study.running.empty() || !study.waiting.empty();
  if (trains && study.active() && !study.spec.transfer.empty()) Transfer(study);
}

// Makes a trial of the point to transfer, and ends the trials of earlier points.
bool Planner::Transfer(Study& study) {
  const Point* best = transfers_.Next(study);
  if (best == nullptr) return false;
  for (Trial& trial : study.trials) {
    const bool runs = trial.state == TrialState::kRunning && !IsEnding(trial);
    const bool waits = trial.state == TrialState::kWaiting || trial.state == TrialState::kPaused;
    if (!runs && !waits) continue;
    trial.note = fmt::format("replaced: study '{}' has a better trial", study.spec.transfer);
    if (runs) {
      departures_.Leave(study, trial, StopReason::kStopped);
    } else {
      judge_.Close(study, trial, TrialState::kStopped);
    }
  }
  state_.MakeTrial(study, *best);
  return true;
}

// Why a study ends that has nothing more to do.
Finish Planner::WhyDone(const Study& study) {
  if (!study.spec.transfer.empty() && study.trials.empty()) return Finish::kNoLeader;
  const bool all_made = study.proposed() >= study.trials_wanted;
  return study.exhausted && !all_made ? Finish::kExhausted : Finish::kTrials;
}

// Returns whether the study has just finished.
bool Planner::FinishIfIdle(Study& study) {
  if (study.finished || !study.running.empty()) return false;
  if (study.ending == Finish::kNot) {
    if (!transfers_.AllMade(study) || (!study.waiting.empty() && !Planted("early-end")) ||
        study.asked != study.answered)
      return false;
    if (state_.draining || study.paused || state_.cluster.nodes().empty()) return false;
    // A study that had no room has not asked yet whether a paused trial is worth resuming.
    if (study.count(TrialState::kPaused) > 0 && !study.has_enough_room) return false;
    study.ending = WhyDone(study);
  }
  study.finished = true;
  state_.commands.push_back(StudyFinished{study.id});
  state_.CountAnew();
  return true;
}

}  // namespace sluice
