#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "engine/parts/note.h"

namespace sluice {

std::vector<Command> Engine::Apply(const Event& event) {
  // A clock that was set back must not undo time-outs.
  // An engine without studies has no past.
  const bool first = state_.studies.empty() || Planted("clock-back");
  state_.now = first ? event.time : std::max(state_.now, event.time);
  std::visit([this](const auto& body) { On(body); }, event.body);
  planner_.Replan();
  return std::exchange(state_.commands, {});
}

int Engine::running() const {
  int total = 0;
  for (const auto& study : state_.studies) total += study->count(TrialState::kRunning);
  return total;
}

Measurement Engine::MeasuredBy(TrialKey key, int trials, std::int64_t bytes,
                               double work_per_second) const {
  const Study& study = *state_.FindStudy(key.study);
  const Trial& trial = study.trial(key.trial);
  const auto situation = SituationOf(state_.cluster, study, trial);
  if (!situation) return {};
  const Grant& grant = trial.launch.grant;
  Measurement measured{.situation = *situation,
                       .bytes = grant.devices.empty() ? 0 : bytes,
                       .work_per_second = work_per_second};
  measured.situation.fused = trials;
  const std::vector<Device>& devices = state_.cluster.node(grant.node).devices;
  for (const DeviceId device : grant.devices)
    measured.bytes = std::min(measured.bytes, devices[Number(device)].memory_bytes);
  return measured;
}

std::vector<TrialKey> Engine::TakeChanged() {
  for (const TrialKey& key : state_.changed) state_.trial(key).changed = false;
  return std::exchange(state_.changed, {});
}

void Engine::On(const StudyCreated& event) {
  SLUICE_CHECK(state_.FindStudy(event.study) == nullptr, "a study is created once");
  Study& study = state_.AddStudy(event);
  study.created = study.use.since = state_.now;
  if (event.spec.deadline_after) study.deadline = state_.now + *event.spec.deadline_after;
  if (event.spec.deadline_at) study.deadline = *event.spec.deadline_at;
  if (state_.PolicyOf(study).LooksAtSpeeds()) {
    for (const KindProfile& profile : event.spec.profile) {
      const Milli width = NeedOn(event.spec.demand, profile.kind).gpus;
      state_.speeds.Learn({.shape = event.spec.name, .kind = profile.kind, .width = width}, 1,
                          profile.seconds_per_unit);
    }
  }
  state_.AskWake(study, study.stops_at());
  study.replan = true;
  state_.CountAnew();
}

// The study came from an engine of its own (Open).
void Engine::On(const StudyOpened& event) {
  Study* study = state_.FindStudy(event.study);
  if (study == nullptr) return;
  if (!Planted("hidden-used")) study->hidden = event.hidden;
  TakenOver(*study);
  endings_.LoseLaunchesOnLostNodes();
  state_.AskWakes(*study);
  study->replan = true;
  transfers_.PlanFollowers(*study);
  state_.CountAnew();
}

void Engine::On(const StudyPauseAsked& event) {
  Study* study = state_.FindStudy(event.study);
  if (study == nullptr || study->finished) return;
  study->pause.clear();
  departures_.Pause(*study, StopReason::kDrain);
  for (auto& other : state_.studies) {
    if (Planted("others-paused")) departures_.Pause(*other, StopReason::kDrain);
  }
  study->replan = true;  // others may have what was kept for it
}

void Engine::On(const StudyResumed& event) {
  Study* study = state_.FindStudy(event.study);
  if (study == nullptr) return;
  if (event.trials) study->trials_wanted = *event.trials;
  if (event.deadline) study->deadline = *event.deadline;
  if (event.change) {
    sluice::Apply(*event.change, study->spec);
    state_.SetPolicy(*study);
  }
  study->pause.clear();
  study->paused = false;
  study->failed_starts = 0;
  study->hold_until = {};
  // The program or the machine may have changed since the study last ran.
  study->capacity = 0;
  memory_meter_.MeasureAnew(*study);
  Reopen(*study);
}

void Engine::On(const StudyStopAsked& event) {
  if (Study* study = state_.FindStudy(event.study)) departures_.EndStudy(*study, Finish::kAsked);
}

// No controller was there until now to hear what its launches said.
void Engine::TakenOver(Study& study) {
  study.failed_starts = 0;
  study.hold_until = {};
  study.wake = kNever;
  for (TrialId id : study.running) {
    Trial& trial = study.trial(id);
    trial.launch.heard = state_.now;
    trial.launch.to_first = {};
    trial.pace.since = kNever;
    trial.leave_sent = kNever;
  }
}

void Engine::On(const ControllerStarted& event) {
  if (state_.studies.empty()) BeginAnew();
  state_.SettleUse();
  state_.cluster.SetNodes(event.nodes);
  state_.draining = false;
  state_.next_wake = kNever;  // the timer of the earlier controller is gone
  for (auto& study : state_.studies) {
    TakenOver(*study);
    if (study->rules < 5 && !study->pause.empty()) study->paused = false;
  }
  endings_.LoseLaunchesOnLostNodes();
  for (auto& study : state_.studies) {
    state_.AskWakes(*study);
    study->replan = true;
  }
}

void Engine::On(const NodesChanged& event) {
  state_.SettleUse();
  state_.cluster.SetNodes(event.nodes);
  endings_.LoseLaunchesOnLostNodes();
  for (auto& study : state_.studies) study->replan = true;
}

void Engine::On(const DrainAsked& event) {
  if (state_.studies.empty()) return;  // it is not for the studies that come later
  state_.draining = true;
  if (!event.only_starts) departures_.Drain();
}

void Engine::On(const Proposed& event) {
  Study* study = state_.FindStudy(event.study);
  if (study != nullptr && IsSet(event.fork)) return forks_.OnProposed(*study, event);
  if (study == nullptr || event.counter < study->answered || event.counter >= study->asked) return;
  if (event.counter != study->answered) {
    // The answer came out of order, and is dropped. So the engine asks for it again.
    state_.commands.push_back(Propose{study->id, event.counter});
    return;
  }
  ++study->answered;
  study->replan = true;
  if (!event.point) {
    study->exhausted = true;
    return;
  }
  state_.MakeTrial(*study, *event.point);
}

// Makes no new plan: the points may be enqueued while no controller runs that could start trials.
void Engine::On(const PointsEnqueued& event) {
  Study* study = state_.FindStudy(event.study);
  if (study == nullptr) return;
  study->enqueued += event.points.size();
  study->queue.insert(study->queue.end(), event.points.begin(), event.points.end());
}

Trial* Engine::LiveLaunch(TrialKey key, LaunchId launch, Position position) {
  if (state_.Admit(key, launch, position) != Admission::kNew) return nullptr;
  Trial& trial = state_.trial(key);
  trial.launch.seq = std::max(trial.launch.seq, position.seq);
  trial.launch.offset = std::max(trial.launch.offset, position.offset);
  // A launch that sends messages has started. So an eviction that was due has been carried out:
  // Planner::StartLaunch repeats it before the start.
  if (position.seq != 0 || position.offset != 0) {
    trial.evicted = false;
    state_.study(key.study).failed_starts = 0;
  }
  return &trial;
}

void Engine::On(const Reported& event) {
  if (state_.Admit(event) != Admission::kNew) return;
  Trial& trial = *LiveLaunch(event.trial, event.launch, event.position);
  judge_.TakeReport(state_.study(event.trial.study), trial, event);
}

void Engine::On(const AttributesSet& event) {
  if (Trial* trial = LiveLaunch(event.trial, event.launch, event.position)) {
    state_.MarkChanged(state_.study(event.trial.study), *trial);
  }
}

void Engine::On(const CheckpointSaved& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  Study& study = state_.study(event.trial.study);
  trial->saved_work = event.work;
  checkpoints_.SetBytes(study, *trial, event.bytes);
  state_.MarkChanged(study, *trial);
  checkpoints_.Bound(study);
}

void Engine::On(const TrialNoted& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  trial->note = NoteOf(event.note);
  state_.MarkChanged(state_.study(event.trial.study), *trial);
}

void Engine::On(const LaunchHeard& event) {
  if (Trial* trial = LiveLaunch(event.trial, event.launch, event.position))
    trial->launch.heard = state_.now;
}

void Engine::On(const LeaseExpired& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, {});
  if (trial == nullptr) return;
  departures_.Leave(state_.study(event.trial.study), *trial, StopReason::kLease);
}

void Engine::On(const CapacityTold& event) {
  const Trial* told = LiveLaunch(event.trial, event.launch, {});
  if (told == nullptr) return;
  Study& study = state_.study(event.trial.study);
  // Plans rely on no more than what all processes have said.
  study.several_shapes = event.several_shapes && (study.several_shapes || study.capacity == 0);
  // A process that takes no launches at all is about to end. It says nothing about other processes.
  if (event.capacity > 0)
    study.capacity =
        study.capacity == 0 ? event.capacity : std::min(study.capacity, event.capacity);
  state_.SetCapacity(study, *told, event.capacity);
  study.replan = true;
}

void Engine::On(const LaunchHung& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, {});
  if (trial == nullptr) return;
  departures_.EmptyBundle(state_.study(event.trial.study), *trial);
}

void Engine::On(const Profiled& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  Study& study = state_.study(event.trial.study);
  if (state_.PolicyOf(study).LooksAtSpeeds()) speed_meter_.Learn(study, event.measured);
  memory_meter_.Learn(study, event.measured);
}

void Engine::On(const MeasurementsGiven& event) {
  Study* study = state_.FindStudy(event.study);
  if (study == nullptr) return;
  for (const Measurement& measured : event.measured) {
    if (state_.PolicyOf(*study).LooksAtSpeeds()) speed_meter_.Learn(*study, measured);
    memory_meter_.Inherit(*study, measured);
  }
}

void Engine::On(const LaunchEnded& event) {
  Trial* trial = LiveLaunch(event.trial, event.launch, event.position);
  if (trial == nullptr) return;
  endings_.EndLaunch(state_.study(event.trial.study), *trial, event);
}

void Engine::On(const RetryAsked& event) {
  Study* study = state_.FindStudy(event.trial.study);
  if (trial(event.trial) == nullptr) return;
  Trial& again = study->trial(event.trial.trial);
  if (again.state != TrialState::kFailed && again.state != TrialState::kStopped) return;
  again.exempt = true;
  again.failures = 0;
  again.SetTarget(study->spec.stopper.max_budget);
  again.note.clear();
  again.not_before = {};
  // The trial may have reached the full budget while its last launch was leaving.
  if (again.work >= again.target) return state_.SetState(*study, again, TrialState::kComplete);
  state_.SetState(*study, again, TrialState::kWaiting);
  study->Enqueue(again);
  Reopen(*study);
}

void Engine::On(const TrialStopAsked& event) {
  Study* study = state_.FindStudy(event.trial.study);
  if (trial(event.trial) == nullptr) return;
  Trial& stopped = study->trial(event.trial.trial);
  if (!CanBeStopped(stopped)) return;
  stopped.note = "stopped by hand";
  study->replan = true;
  if (stopped.state == TrialState::kRunning)
    return departures_.Leave(*study, stopped, StopReason::kStudy);
  judge_.Close(*study, stopped, TrialState::kStopped);
  judge_.EndSearch(*study, stopped, /*failed=*/true);  // the stopper does not know yet
}

// The study goes on. No wake-ups were asked for while it was finished, so they are asked for now.
void Engine::Reopen(Study& study) {
  study.ending = Finish::kNot;
  study.finished = false;
  study.over = study.failed = study.fruitless = 0;
  study.wake = kNever;
  state_.AskWakes(study);
  study.replan = true;
  state_.CountAnew();
}

// Studies that asked for this time, or for an earlier one, are looked at and planned. If none did,
// someone else wants all studies to be planned.
void Engine::On(const Woken&) {
  if (state_.now >= state_.next_wake) state_.next_wake = kNever;
  const bool all = std::ranges::none_of(state_.studies, [this](const auto& study) {
    return !study->finished && study->wake <= state_.now;
  });
  for (auto& study : state_.studies) {
    if (study->finished) continue;
    if (!all && study->wake > state_.now) {
      state_.AskWake(*study, study->wake);
      continue;
    }
    study->wake = kNever;
    if (state_.now >= study->stops_at() && study->ending == Finish::kNot && !Planted("late-start"))
      departures_.EndStudy(*study, Finish::kDeadline);
    departures_.CheckTimeouts(*study);
    state_.AskWakes(*study);
    study->replan = true;
  }
}

std::vector<Command> Engine::Unfinished() const {
  std::vector<Command> commands;
  for (const auto& study : state_.studies) AddUnfinished(*study, commands);
  return commands;
}

std::vector<Command> Engine::Unfinished(StudyId study) const {
  std::vector<Command> commands;
  AddUnfinished(*state_.FindStudy(study), commands);
  return commands;
}

void Engine::AddUnfinished(const Study& study, std::vector<Command>& commands) const {
  for (std::uint64_t counter = study.answered; counter < study.asked; ++counter) {
    if (!Planted("lost-proposal")) commands.push_back(Propose{study.id, counter});
  }
  for (const Trial& trial : study.trials) {
    if (trial.awaits_parameters)
      commands.push_back(Propose{.study = study.id, .fork = trial.id, .parent = trial.parent});
    if (trial.copying == Copying::kAsked) commands.push_back(CopyOf(study, trial));
  }
  for (TrialId id : study.running) {
    const Trial& trial = study.trial(id);
    commands.push_back(
        Start{{study.id, id}, trial.launch.id, trial.launch.grant, trial.work, trial.target});
    if (trial.leaving)
      commands.push_back(StopLaunch{{study.id, id}, trial.launch.id, ToldReason(study, trial)});
  }
  for (const Trial& trial : study.trials) {
    if (trial.evicted && trial.state != TrialState::kRunning)
      commands.push_back(Evict{{study.id, trial.id}});
  }
}

void Engine::Open(std::unique_ptr<Engine> alone) {
  SLUICE_CHECK(alone->state_.studies.size() == 1, "a study comes from an engine of its own");
  (void)alone->TakeChanged();
  std::unique_ptr<Study> study = std::move(alone->state_.studies.front());
  SLUICE_CHECK(state_.FindStudy(study->id) == nullptr, "a study is in one engine");
  // Its clock may have been ahead of this one. A trial that is paused may wait later.
  const Duration ahead = std::max(Duration(0), alone->state_.now - state_.now);
  for (Trial& trial : study->trials) {
    if (trial.not_before > state_.now) trial.not_before -= ahead;
  }
  alone->state_.speeds.MoveStudy(study->spec.name, state_.speeds);
  state_.TakeHeld(*study);
  state_.Insert(std::move(study));
}

std::unique_ptr<Engine> Engine::Close(StudyId id) {
  const auto found =
      std::ranges::find(state_.studies, id, [](const auto& each) { return each->id; });
  SLUICE_CHECK(found != state_.studies.end() && (*found)->running.empty(),
               "a study is closed once, and when nothing of it runs");
  std::erase_if(state_.changed, [&](const TrialKey& key) {
    if (key.study == id) (*found)->trial(key.trial).changed = false;
    return key.study == id;
  });
  auto alone = std::make_unique<Engine>();
  alone->state_.now = state_.now;
  state_.speeds.MoveStudy((*found)->spec.name, alone->state_.speeds);
  alone->state_.studies.push_back(std::move(*found));
  state_.studies.erase(found);
  if (state_.studies.empty()) BeginAnew();
  alone->state_.studies.front()->use = {.held = {}, .since = alone->state_.now};
  state_.CountAnew();
  return alone;
}

void Engine::BeginAnew() {
  SLUICE_CHECK(state_.studies.empty(), "an engine with studies has a past");
  state_.cluster = Cluster();
  state_.draining = false;
  state_.next_wake = kNever;
}

}  // namespace sluice
