#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "engine/note.h"
#include "engine/templates.h"
#include "search/bracket_plan.h"

namespace sluice {
namespace {

// Whether a program's own words say how far its launch is to go.
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

// What more devices bring before it is measured: HyperSched's ResNet-50 stands for all.
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
  study->pause.clear();
  Reopen(*study);
}

void Engine::On(const StudyStopAsked& event) {
  if (Study* study = FindStudy(event.study)) End(*study, Finish::kAsked);
}

void Engine::On(const ControllerStarted& event) {
  cluster_.SetNodes(event.nodes);
  draining_ = false;
  next_wake_ = kNever;  // whoever was to wake us is gone
  for (auto& study : studies_) {
    study->failed_starts = 0;
    study->hold_until = {};
    for (TrialId id : study->running) {
      Trial& trial = study->trials[Number(id) - 1];
      trial.heard = now_;  // nobody was there to hear it
      trial.to_first = {};
      trial.window = kNever;
      trial.told = kNever;
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

// Nobody else will say that they ended.
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
  // The end of one may have decided about another that was lost next: nobody is there to be told.
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
    commands_.push_back(
        Propose{study->id,
                event.counter});  // out of turn: asked for again, or it would be missing for ever
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

// Trials that go straight to the full budget are one group (grid, random), and so are those that a
// stopper gathers; the others come one by one.
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

// No new plan: a point may be enqueued while nobody is there to start its trial.
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
  // Who speaks was started, and what was to be removed was removed before that.
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

// It goes on; of one that had ended nobody asked to be woken.
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

// Tells a launch to leave its trial. A stronger reason replaces a weaker one; the same one is said
// again. What becomes of a trial that was stopped or paused is decided: that its launch has to be
// forced out changes nothing.
void Engine::Leave(Study& study, Trial& trial, StopReason reason) {
  SLUICE_CHECK(trial.state == TrialState::kRunning, "only a running trial can leave");
  if (!(IsDecided(trial) && reason == StopReason::kLease)) trial.leave_reason = reason;
  if (!std::exchange(trial.leaving, true)) trial.told = now_;
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
  if (trial.leaving && event.ending == Ending::kPaused && trial.told != kNever) {
    // Never more than it may take before it is forced: the machine may have slept meanwhile.
    const Duration took = std::min(now_ - trial.told, study.spec.timeouts.grace);
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
  // Whoever was asked to make room, or left by itself with more to come, goes on later. So does one that
  // ended well when it was made to leave by the study's end, and had more to do.
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
  // Running it again would give the same: this failure is final.
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

// Whether a launch did all that it was told when it started: such a program could not hear that it
// has got further to go. One that went past that on its own has come to its own end.
bool Engine::DidAsTold(const Study& study, const Trial& trial) {
  const bool at_least = study.tells_budget || study.rules < 2 || Planted("end-again");
  return at_least ? trial.launch_work >= trial.launch_target
                  : trial.launch_work == trial.launch_target;
}

// Whether a launch that ended well found nothing to do because its checkpoint is further than what
// was ever reported: those reports died with an earlier launch.
bool Engine::IsAhead(const Trial& trial, const LaunchEnded& event) {
  const bool idle = event.ending == Ending::kDone && trial.launch_reports == 0;
  if (!idle || trial.restarted || Number(trial.launch) < 2 || event.checkpoint_bytes <= 0)
    return false;
  const bool short_of_target = trial.target != kNoLimit && trial.work < trial.target;
  return event.checkpoint_work > trial.work ||
         (event.checkpoint_work == 0 && trial.lost && short_of_target);
}

// From nothing, once: the checkpoint that is ahead goes.
void Engine::BeginAgain(Study& study, Trial& trial) {
  trial.restarted = true;
  SetSaved(study, trial, 0);
  trial.saved_work = 0;
  trial.evicted = true;
  commands_.push_back(Evict{{study.id, trial.id}});
  PutBack(study, trial, "its checkpoint was ahead of what it had reported: it began again");
}

// It goes on later, and nothing is charged.
void Engine::PutBack(Study& study, Trial& trial, std::string_view reason) {
  // Where a fork comes from is said until there is something else to say.
  if (!reason.empty() || !trial.IsFork()) trial.note = NoteOf(reason);
  SetState(study, trial, TrialState::kWaiting);
  Enqueue(study, trial);
}

// The machine failed, not the trial. Nothing more is started for a while; if that does not help, the
// study pauses, and what can hear saves and leaves; the others come to their end.
void Engine::HoldStarts(Study& study, std::string_view reason) {
  constexpr std::uint32_t kMostFailedStarts = 3;
  constexpr Duration kFirstHold = std::chrono::milliseconds(500);
  if (now_ < study.hold_until) return;  // a start of the same round
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

// A study whose trials fail one after another is not worth its time: what runs saves and leaves.
// Unless the file says how many may fail, that is so when the first few all came to nothing.
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

// Tells the stopper of an end that is not its own doing.
void Engine::EndSearch(Study& study, Trial& trial, bool failed) {
  if (trial.exempt) return;
  for (const Ruling& ruling : study.stopper->End(trial.id, failed)) Follow(study, ruling);
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

// A trial that has run before, or goes on from one that has, never starves behind new ones.
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
