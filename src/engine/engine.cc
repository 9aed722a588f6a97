#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "engine/note.h"
#include "engine/read/templates.h"
#include "search/rungs/bracket_plan.h"

namespace sluice {
namespace {

// Whether the command line or the environment of a program says how far its launch is to go.
bool TellsBudget(const StudySpec& spec) {
  const auto tells = [](const std::string& text) { return HasWord(text, "budget"); };
  return std::ranges::any_of(spec.program, tells) ||
         std::ranges::any_of(spec.environment | std::views::values, tells);
}

}  // namespace

std::string_view Name(Finish finish) {
  switch (finish) {
    case Finish::kNot: return "running";
    case Finish::kTrials: return "all trials done";
    case Finish::kExhausted: return "space exhausted";
    case Finish::kTarget: return "target reached";
    case Finish::kDeadline: return "deadline passed";
    case Finish::kAsked: return "stopped";
    case Finish::kFailures: return "too many trials failed";
  }
  SLUICE_CHECK(false, "a finish has a name");
}

int Study::room() const {
  const auto made = static_cast<std::uint64_t>(proposed()) + (asked - answered);
  const auto wanted = static_cast<std::uint64_t>(trials_wanted);
  return made < wanted ? static_cast<int>(wanted - made) : 0;
}

Time Study::stops_at() const { return deadline == kNever ? kNever : deadline - leave; }

// Until it is measured, the gain from more devices is taken to be that of HyperSched's ResNet-50.
Engine::Engine(std::unique_ptr<Policy> policy)
    : policy_(std::move(policy)), speeds_(SpeedPriors{.widths = *WidthTable("resnet50")}) {}

std::vector<Command> Engine::Apply(const Event& event) {
  now_ = Planted("clock-back")
             ? event.time
             : std::max(now_, event.time);  // a clock that was set back must not undo time-outs
  std::visit([this](const auto& body) { On(body); }, event.body);
  if (replan_) Replan();
  return std::exchange(commands_, {});
}

const Study* Engine::study(StudyId id) const {
  const auto found = std::ranges::find(studies_, id, [](const auto& study) { return study->id; });
  return found == studies_.end() ? nullptr : found->get();
}

Study* Engine::FindStudy(StudyId id) { return const_cast<Study*>(study(id)); }

const Study* Engine::FindStudy(std::string_view name) const {
  const auto found =
      std::ranges::find(studies_, name, [](const auto& study) { return study->spec.name; });
  return found == studies_.end() ? nullptr : found->get();
}

const Trial* Engine::trial(TrialKey key) const {
  const Study* owner = study(key.study);
  if (owner == nullptr || !IsSet(key.trial) || Number(key.trial) > owner->trials.size())
    return nullptr;
  return &owner->trial(key.trial);
}

int Engine::running() const {
  int total = 0;
  for (const auto& study : studies_) total += study->count(TrialState::kRunning);
  return total;
}

std::vector<TrialKey> Engine::TakeChanged() {
  for (const TrialKey& key : changed_)
    FindStudy(key.study)->trials[Number(key.trial) - 1].changed = false;
  return std::exchange(changed_, {});
}

Study& Engine::Made(const StudyCreated& event) {
  auto study = std::make_unique<Study>();
  study->id = event.study;
  study->spec = event.spec;
  study->source = event.source;
  study->folder = event.folder;
  study->seed = event.seed;
  study->rules = event.rules;
  study->tells_budget = TellsBudget(event.spec);
  study->trials_wanted = event.spec.trials;
  study->spec.stopper.seed = event.seed;
  study->spec.stopper.last_counts = event.spec.objective.of == Of::kLast;
  auto stopper = MakeStopper(study->spec.stopper);
  SLUICE_CHECK(stopper.has_value(), "a study's stopper was checked when the study was read");
  study->stopper = std::move(*stopper);
  study->typical_work = TypicalWork(study->spec.stopper);
  studies_.push_back(std::move(study));
  return *studies_.back();
}

void Engine::On(const StudyCreated& event) {
  SLUICE_CHECK(FindStudy(event.study) == nullptr, "a study is created once");
  Study& study = Made(event);
  study.created = now_;
  if (event.spec.deadline_after) study.deadline = now_ + *event.spec.deadline_after;
  if (event.spec.deadline_at) study.deadline = *event.spec.deadline_at;
  if (policy_->LooksAtSpeeds()) {
    for (const KindProfile& profile : event.spec.profile) {
      const Milli width = NeedOn(event.spec.demand, profile.kind).gpus;
      speeds_.Learn({.shape = event.spec.name, .kind = profile.kind, .width = width}, 1,
                    profile.seconds_per_unit);
    }
  }
  AskWake(study.stops_at());
  replan_ = true;
}

void Engine::On(const StudyResumed& event) {
  Study* study = FindStudy(event.study);
  if (study == nullptr) return;
  if (event.trials) study->trials_wanted = *event.trials;
  if (event.deadline) study->deadline = *event.deadline;
  if (event.change) {
    // Only a study that has the engine to itself is changed like this: the policy is its own.
    if (event.change->policy != study->spec.policy) {
      auto policy = MakePolicy(event.change->policy);
      SLUICE_CHECK(policy.has_value(), "a study's policy was checked when its file was read");
      policy_ = std::move(*policy);
    }
    sluice::Apply(*event.change, study->spec);
  }
  study->pause.clear();
  Reopen(*study);
}

void Engine::On(const StudyStopAsked& event) {
  if (Study* study = FindStudy(event.study)) End(*study, Finish::kAsked);
}

void Engine::On(const ControllerStarted& event) {
  cluster_.SetNodes(event.nodes);
  draining_ = false;
  next_wake_ = kNever;  // the timer of the last controller is gone
  for (auto& study : studies_) {
    study->failed_starts = 0;
    study->hold_until = {};
    for (TrialId id : study->running) {
      Trial& trial = study->trials[Number(id) - 1];
      trial.heard = now_;  // no controller was there to hear its reports
      trial.to_first = {};
      trial.window = kNever;
      trial.leave_sent = kNever;
    }
  }
  LoseLaunchesOnLostNodes();
  for (auto& study : studies_) AskWakes(*study);
  replan_ = true;
}

void Engine::On(const NodesChanged& event) {
  cluster_.SetNodes(event.nodes);
  LoseLaunchesOnLostNodes();
  replan_ = true;
}

// Ends the launches on nodes that are down: no other event will say that they ended.
void Engine::LoseLaunchesOnLostNodes() {
  for (auto& study : studies_) {
    for (TrialId id : std::vector<TrialId>(study->running)) {
      Trial& trial = study->trials[Number(id) - 1];
      const Node& node = cluster_.node(trial.grant.node);
      if (node.up) continue;
      EndLaunch(*study, trial,
                LaunchEnded{.trial = {study->id, id},
                            .launch = trial.launch,
                            .position = {},
                            .ending = Ending::kLost,
                            .reason = fmt::format("node '{}' was lost", node.name),
                            .checkpoint_bytes = -1});
    }
  }
  // The end of one launch may have caused a command to another launch that was lost after it. No
  // process is left to be told.
  std::erase_if(commands_, [this](const Command& command) {
    return std::visit(
        [this](const auto& each) {
          if constexpr (requires { each.launch; })
            return Admit(each.trial, each.launch, {}) != Admission::kNew;
          return false;
        },
        command);
  });
}

void Engine::On(const DrainAsked& event) {
  draining_ = true;
  if (!event.only_starts) Drain(StopReason::kDrain);
}

void Engine::Drain(StopReason reason) {
  draining_ = true;
  for (auto& study : studies_) {
    const StopReason its = study->rules < 2 ? StopReason::kYield : reason;
    for (TrialId id : study->running) {
      Trial& trial = study->trials[Number(id) - 1];
      const bool yields = trial.leaving && trial.leave_reason == StopReason::kYield;
      if (!trial.leaving || (yields && its == StopReason::kDrain)) Leave(*study, trial, its);
    }
  }
}

void Engine::On(const Proposed& event) {
  Study* study = FindStudy(event.study);
  if (study != nullptr && IsSet(event.fork)) return OnFork(*study, event);
  if (study == nullptr || event.counter < study->answered || event.counter >= study->asked) return;
  if (event.counter != study->answered) {
    // Out of turn: asked for again, or it would be missing for ever.
    commands_.push_back(Propose{study->id, event.counter});
    return;
  }
  ++study->answered;
  replan_ = true;
  if (!event.point) {
    study->exhausted = true;
    return;
  }
  MakeTrial(*study, *event.point);
}

Trial& Engine::MakeTrial(Study& study, Point point) {
  Trial trial;
  trial.id = TrialId(study.trials.size() + 1);
  trial.point = std::move(point);
  trial.created = now_;
  trial.target = study.stopper->Admit(trial.id);
  return Add(study, std::move(trial));
}

// Trials that go straight to the full budget are one group (grid, random). So are trials that a
// stopper gathers for one target. Every other trial is a group of its own.
void Engine::JoinGroup(Study& study, Trial& trial) {
  const bool same = study.stopper->Gathers() ? trial.target == study.group_target
                                             : trial.target == study.spec.stopper.max_budget;
  if (!same || study.groups == 0) ++study.groups;
  study.group_target = trial.target;
  trial.group = GroupId(study.groups);
}

Trial& Engine::Add(Study& study, Trial trial) {
  JoinGroup(study, trial);
  study.trials.push_back(std::move(trial));
  ++study.counts[static_cast<std::size_t>(TrialState::kWaiting)];
  Enqueue(study, study.trials.back());
  Changed(study, study.trials.back());
  return study.trials.back();
}

// Makes no new plan: points may be enqueued while no controller runs that could start trials.
void Engine::On(const PointsEnqueued& event) {
  Study* study = FindStudy(event.study);
  if (study == nullptr) return;
  study->enqueued += event.points.size();
  study->queue.insert(study->queue.end(), event.points.begin(), event.points.end());
}

Admission Engine::Admit(TrialKey key, LaunchId launch, Position position) const {
  const Trial* known = trial(key);
  if (known == nullptr || (known->launch != launch && !Planted("old-launch")))
    return Admission::kStale;
  if (position.seq != 0 && position.seq <= known->seq && !Planted("seen-again"))
    return Admission::kSeen;
  if (position.offset != 0 && position.offset <= known->offset) return Admission::kSeen;
  return known->state == TrialState::kRunning ? Admission::kNew : Admission::kStale;
}

Admission Engine::Admit(const Reported& report) const {
  const Admission admission = Admit(report.trial, report.launch, report.position);
  if (admission != Admission::kNew) return admission;
  const Trial& known = *trial(report.trial);
  if (report.work <= known.launch_work) return Admission::kBackwards;
  return report.work <= known.work && !Planted("retrained-again") ? Admission::kRetrained
                                                                  : Admission::kNew;
}

Trial* Engine::LiveLaunch(TrialKey key, LaunchId launch, Position position) {
  if (Admit(key, launch, position) != Admission::kNew) return nullptr;
  Trial& trial = FindStudy(key.study)->trials[Number(key.trial) - 1];
  trial.seq = std::max(trial.seq, position.seq);
  trial.offset = std::max(trial.offset, position.offset);
  // A launch that sends messages was started. A checkpoint that was to be removed was removed
  // before that.
  if (position.seq != 0 || position.offset != 0) {
    trial.evicted = false;
    FindStudy(key.study)->failed_starts = 0;
  }
  return &trial;
}

void Engine::On(const AttributesSet& event) {
  if (Trial* trial = LiveLaunch(event.trial, event.launch, event.position)) {
    Changed(*FindStudy(event.trial.study), *trial);
  }
}

void Engine::On(const CheckpointSaved& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  Study& study = *FindStudy(event.trial.study);
  trial->saved_work = event.work;
  SetSaved(study, *trial, event.bytes);
  Changed(study, *trial);
  BoundCheckpoints(study);
}

void Engine::On(const TrialNoted& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  trial->note = NoteOf(event.note);
  Changed(*FindStudy(event.trial.study), *trial);
}

void Engine::On(const LaunchHeard& event) {
  if (Trial* trial = LiveLaunch(event.trial, event.launch, event.position)) trial->heard = now_;
}

void Engine::On(const LeaseExpired& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, {});
  if (trial == nullptr) return;
  Leave(*FindStudy(event.trial.study), *trial, StopReason::kLease);
}

void Engine::On(const RetryAsked& event) {
  Study* study = FindStudy(event.trial.study);
  if (trial(event.trial) == nullptr) return;
  Trial& again = study->trials[Number(event.trial.trial) - 1];
  if (again.state != TrialState::kFailed && again.state != TrialState::kStopped) return;
  again.exempt = true;
  again.failures = 0;
  SetTarget(again, study->spec.stopper.max_budget);
  again.note.clear();
  again.not_before = {};
  if (again.work >= again.target)
    return SetState(*study, again, TrialState::kComplete);  // it got there on its way out
  SetState(*study, again, TrialState::kWaiting);
  Enqueue(*study, again);
  Reopen(*study);
}

void Engine::On(const TrialStopAsked& event) {
  Study* study = FindStudy(event.trial.study);
  if (trial(event.trial) == nullptr) return;
  Trial& stopped = study->trials[Number(event.trial.trial) - 1];
  if (!CanBeStopped(stopped)) return;
  stopped.note = "stopped by hand";
  replan_ = true;
  if (stopped.state == TrialState::kRunning) return Leave(*study, stopped, StopReason::kStudy);
  Close(*study, stopped, TrialState::kStopped);
  EndSearch(*study, stopped, /*failed=*/true);  // the stopper does not know yet
}

// The study goes on. No wake-ups were asked for while it was finished, so they are asked for now.
void Engine::Reopen(Study& study) {
  study.ending = Finish::kNot;
  study.finished = false;
  study.over = study.failed = study.fruitless = 0;
  AskWakes(study);
  replan_ = true;
}

void Engine::On(const Woken&) {
  if (now_ >= next_wake_) next_wake_ = kNever;
  for (auto& study : studies_) {
    if (study->finished) continue;
    if (now_ >= study->stops_at() && study->ending == Finish::kNot && !Planted("late-start"))
      End(*study, Finish::kDeadline);
    CheckTimeouts(*study);
    AskWakes(*study);
  }
  replan_ = true;
}

// Tells a launch to leave its trial, again if it was told before. The new reason replaces the old
// one, except that an expired lease does not replace the reason of a trial that is decided
// (IsDecided): that its launch has to be forced out changes nothing.
void Engine::Leave(Study& study, Trial& trial, StopReason reason) {
  SLUICE_CHECK(trial.state == TrialState::kRunning, "only a running trial can leave");
  if (!(IsDecided(trial) && reason == StopReason::kLease)) trial.leave_reason = reason;
  if (!std::exchange(trial.leaving, true)) trial.leave_sent = now_;
  commands_.push_back(StopLaunch{{study.id, trial.id}, trial.launch, reason});
  Changed(study, trial);
}

void Engine::On(const LaunchEnded& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  EndLaunch(*FindStudy(event.trial.study), *trial, event);
}

void Engine::EndLaunch(Study& study, Trial& trial, const LaunchEnded& event) {
  if (!(Planted("lost-grant") && event.ending == Ending::kLost)) cluster_.Release(trial.grant);
  MeasureAnew(trial.grant.bundle);
  trial.grant = {};
  trial.busy += now_ - trial.started;
  trial.ended = now_;
  if (trial.leaving && event.ending == Ending::kPaused && trial.leave_sent != kNever) {
    // At most the grace period, after which a launch is forced out: the machine may have slept
    // meanwhile.
    const Duration took = std::min(now_ - trial.leave_sent, study.spec.timeouts.grace);
    study.leave_known = true;
    study.leave = std::max(took, study.leave * 9 / 10);
    if (study.ending == Finish::kNot) AskWake(study.stops_at());
  }
  std::erase(study.running, trial.id);
  if (event.checkpoint_bytes >= 0) SetSaved(study, trial, event.checkpoint_bytes);
  Settle(study, trial, event);
  trial.leaving = false;
  AskCopiesOf(study, trial.id);
  BoundCheckpoints(study);
  replan_ = true;
}

void Engine::SetState(Study& study, Trial& trial, TrialState state) {
  --study.counts[static_cast<std::size_t>(trial.state)];
  ++study.counts[static_cast<std::size_t>(state)];
  trial.state = state;
  Changed(study, trial);
}

void Engine::Changed(Study& study, Trial& trial) {
  if (std::exchange(trial.changed, true)) return;
  changed_.push_back({study.id, trial.id});
}

// A trial that has run before is queued before new trials, so that it never starves behind them. So
// is a fork, which goes on from a trial that has run.
void Engine::Enqueue(Study& study, Trial& trial) {
  const auto is_new = [](const Trial& some) { return !IsSet(some.launch) && !some.IsFork(); };
  if (is_new(trial) || Planted("starved")) {
    study.waiting.push_back(trial.id);
    return;
  }
  const auto first_new =
      std::ranges::find_if(study.waiting, [&](TrialId id) { return is_new(study.trial(id)); });
  study.waiting.insert(first_new, trial.id);
}

}  // namespace sluice
