#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "base/digest.h"
#include "engine/observation.h"
#include "engine/read/study_keys.h"
#include "policy/policy.h"
#include "search/samplers/explore.h"
#include "sim/watched_policy.h"
#include "sim/world/device_usage.h"
#include "sim/world/event_queue.h"
#include "sim/world/launch_speeds.h"
#include "sim/world/launch_table.h"
#include "sim/world/shared_devices.h"
#include "sim/world/simulated_launch.h"
#include "sim/world/simulated_study.h"

namespace sluice {
namespace {

// The number of events between two calls of `progress`.
constexpr std::int64_t kProgressEvery = 1 << 16;
// The most events between two updates of the samplers. It keeps the engine's list of changes short.
constexpr std::int64_t kTellSamplersEvery = 1 << 10;

using Launch = SimulatedLaunch;

// The world around the engine. It lets moments happen in order, tells the engine of each as an
// event, and carries out the engine's commands.
class World {
 public:
  World(const Scenario& scenario, const SimulationOptions& options, std::unique_ptr<Policy> policy)
      : scenario_(scenario),
        options_(options),
        nodes_(scenario.nodes),
        engine_(std::make_unique<WatchedPolicy>(std::move(policy), options.stopwatch_ns,
                                                result_.decisions)),
        devices_(scenario.nodes),
        usage_(devices_, options.record_intervals),
        launches_(queue_),
        speeds_(scenario, studies_, devices_, launches_) {
    for (const Node& node : nodes_) {
      for (const Device& device : node.devices) result_.rows.push_back(device.uuid);
      result_.cpus += node.cpus;
    }
    result_.devices = result_.rows.size();
    for (const Node& node : nodes_) result_.rows.push_back(node.name);
    ended_.body = LaunchEnded{};
  }

  Result<SimulationResult> Run() {
    SLUICE_TRY(Arrivals());
    // Studies that are there from the beginning are known before the first plan is made.
    while (!queue_.empty() && queue_.top().time == Time{}) Next();
    Happen({now_, ControllerStarted{nodes_}});
    while (finished_ < studies_.size()) {
      if (queue_.empty()) return Stuck();
      Next();
    }
    Finish();
    return std::move(result_);
  }

 private:
  Status Arrivals() {
    SLUICE_ASSIGN(studies_, MakeSimulatedStudies(scenario_, options_.seed));
    for (const auto& study : studies_) {
      const Time arrives(study->study->arrives);
      result_.studies.push_back({.name = study->study->spec.name, .arrived = arrives});
      queue_.Push(arrives, {.what = Moment::kArrival, .index = Number(study->id) - 1});
    }
    for (std::uint32_t i = 0; i < scenario_.failures.size(); ++i) {
      const NodeFailure& failure = scenario_.failures[i];
      queue_.Push(Time(failure.at), {.what = Moment::kDown, .index = i});
      queue_.Push(Time(failure.at + failure.lasts), {.what = Moment::kUp, .index = i});
    }
    return {};
  }

  void Next() {
    const Moment moment = queue_.Pop();
    now_ = moment.time;
    switch (moment.what) {
      case Moment::kArrival: return Arrive(*studies_[moment.index]);
      case Moment::kAnswer: return Answer(*studies_[moment.index], moment.counter);
      case Moment::kFork: return AnswerFork(*studies_[moment.index], TrialId(moment.counter));
      case Moment::kCopied: return Copied(*studies_[moment.index], TrialId(moment.counter));
      case Moment::kWake: return Happen({now_, Woken{}});
      case Moment::kReady:
        if (launches_.IsCurrent(moment)) Ready(moment.index);
        return;
      case Moment::kReport:
        if (launches_.IsCurrent(moment)) Report(moment.index);
        return;
      case Moment::kLeft:
        if (launches_.IsCurrent(moment)) Left(moment.index);
        return;
      case Moment::kDown: return GoDown(scenario_.failures[moment.index].node);
      case Moment::kUp: return ComeBack(scenario_.failures[moment.index].node);
    }
  }

  // All launches on the node are lost, with the work they did since they last saved.
  void GoDown(NodeId node) {
    for (std::uint32_t slot = 0; slot < launches_.size(); ++slot) {
      if (launches_[slot].grant.node == node && launches_.Lives(slot)) Lose(slot);
    }
    nodes_[Number(node) - 1].up = false;
    Happen({now_, NodesChanged{nodes_}});
  }
  void ComeBack(NodeId node) {
    nodes_[Number(node) - 1].up = true;
    Happen({now_, NodesChanged{nodes_}});
  }

  void Arrive(const SimulatedStudy& study) {
    Happen({now_, study.created});
    if (!study.enqueued.points.empty()) Happen({now_, study.enqueued});
  }

  // Applies one event, and carries out the engine's commands.
  void Happen(const Event& event) {
    std::vector<Command> commands = engine_.Apply(event);
    ++result_.events;
    Trace(event.body.index());
    for (const Command& command : commands) {
      std::visit([this](const auto& each) { CarryOut(each); }, command);
    }
    if (result_.events % kTellSamplersEvery == 0) TellSamplers();
    if (result_.events % kProgressEvery == 0) SayProgress();
  }

  // Adds to the trace. This is cheaper than a Digest, and is called a few times for each event.
  void Trace(std::uint64_t bits) { trace_ = std::rotl(trace_ ^ bits, 29) * 0x9e3779b97f4a7c15ULL; }

  void SayProgress() {
    if (!options_.progress) return;
    std::int64_t ended = 0;
    for (const auto& study : engine_.studies()) {
      ended += study->count(TrialState::kComplete) + study->count(TrialState::kStopped) +
               study->count(TrialState::kFailed);
    }
    options_.progress({.events = result_.events, .now = now_, .trials_ended = ended});
  }

  // A sampler that is asked for a proposal knows all that happened before, as in production.
  void TellSamplers() {
    for (const TrialKey& key : engine_.TakeChanged()) {
      SimulatedStudy& study = StudyOf(key);
      if (!study.learns) continue;
      const Trial& trial = *engine_.trial(key);
      if (trial.IsFork()) continue;  // as in production
      study.sampler->Observe(ObservationOf(study.study->spec, trial));
    }
  }

  void Answer(SimulatedStudy& study, std::uint64_t counter) {
    if (study.learns) TellSamplers();
    Happen({now_, Proposed{.study = study.id,
                           .counter = counter,
                           .point = study.sampler->Propose(counter),
                           .fork = {}}});
  }
  void AnswerFork(const SimulatedStudy& of, TrialId fork) {
    const Study& study = *engine_.study(of.id);
    const Point& parent = study.trial(study.trial(fork).parent).point;
    Happen({now_, Proposed{.study = of.id,
                           .counter = 0,
                           .point = Explore(study.spec.space, study.seed, Number(fork), parent,
                                            MayChange(study.spec.space, study.spec.stopper.mutate)),
                           .fork = fork}});
  }
  void Copied(SimulatedStudy& study, TrialId copy) {
    const Work work = study.Checkpoint(copy);
    Happen({now_, CheckpointCopied{.trial = {study.id, copy},
                                   .work = work,
                                   .error = work > 0 ? "" : "there is no checkpoint to copy"}});
  }

  void CarryOut(const Propose& command) {
    const bool fork = IsSet(command.fork);
    queue_.Push(now_, {.what = fork ? Moment::kFork : Moment::kAnswer,
                       .index = Number(command.study) - 1,
                       .counter = fork ? Number(command.fork) : command.counter});
  }

  void CarryOut(const CopyCheckpoint& command) {
    SimulatedStudy& study = *studies_[Number(command.study) - 1];
    const Work saved = study.Checkpoint(command.from);
    study.Checkpoint(command.to) = saved;
    queue_.Push(now_, {.what = Moment::kCopied,
                       .index = Number(command.study) - 1,
                       .counter = Number(command.to)});
  }

  void CarryOut(const WakeAt& command) {
    queue_.Push(std::max(command.time, now_), {.what = Moment::kWake});
  }

  void CarryOut(const StudyFinished& command) {
    StudyResult& study = result_.studies[Number(command.study) - 1];
    study.finished = now_;
    ++finished_;
  }

  void CarryOut(const Evict& command) {
    StudyOf(command.trial).Checkpoint(command.trial.trial) = 0;
  }

  void CarryOut(const SetBudget& command) {
    const std::uint32_t slot = launches_.Find(command.trial, command.launch);
    if (slot == kNoSlot || launches_[slot].leaving) return;
    launches_[slot].target = command.target;
    if (launches_[slot].idle) GoOn(slot);  // a busy launch sees its new target after a report
  }

  void CarryOut(const Start& command) {
    SimulatedStudy& study = StudyOf(command.trial);
    const std::uint32_t slot = launches_.Open(command.trial, command.launch);
    Launch& launch = launches_[slot];
    launch.target = command.target;
    launch.known_work = command.work;
    launch.work = study.Checkpoint(command.trial.trial);
    launch.grant = command.grant;
    launch.phase_began = now_;
    usage_.Hold(launch.grant, now_);
    launch.curve = study.curves.Of(engine_.trial(command.trial)->point);
    const WorkloadSpec& work = study.workload();
    // The trials of a bundle are one program, and all take the same time.
    if (!IsSet(launch.grant.bundle)) launch.spread = study.PaceOf(command.trial.trial);
    const Duration wait = work.start_up + (launch.work > 0 ? work.restore : Duration(0));
    Trace(Number(command.trial.trial));
    launches_.Schedule(now_ + wait, Moment::kReady, slot);
  }

  void CarryOut(const StopLaunch& command) {
    const std::uint32_t slot = launches_.Find(command.trial, command.launch);
    if (slot == kNoSlot || launches_[slot].leaving) return;
    switch (command.reason) {
      case StopReason::kPaused:
      case StopReason::kYield:
      case StopReason::kDrain: return Leave(slot, Ending::kPaused, /*saves=*/true);
      case StopReason::kComplete: return Leave(slot, Ending::kDone, /*saves=*/true);
      case StopReason::kStopped:
      case StopReason::kStudy: return Leave(slot, Ending::kDone, /*saves=*/false);
      case StopReason::kTimeout:
      case StopReason::kLease:
        launches_[slot].reason = "killed";
        return Leave(slot, Ending::kFailed, /*saves=*/false);
    }
  }

  SimulatedStudy& StudyOf(TrialKey trial) { return *studies_[Number(trial.study) - 1]; }
  const WorkloadSpec& WorkloadOf(const Launch& launch) { return StudyOf(launch.trial).workload(); }

  // The program is up: it takes its memory and works.
  void Ready(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    usage_.EndPhase(launch, now_);
    launch.phase = Phase::kRun;
    launch.reason = speeds_.WhyOutOfMemory(launch);
    if (!launch.reason.empty()) return Leave(slot, Ending::kFailed, /*saves=*/false);
    speeds_.Join(slot, now_);
    launch.since = now_;
    GoOn(slot);
  }

  // The launch works towards its next report, or is idle at its target until a verdict comes.
  void GoOn(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    const WorkloadSpec& work = WorkloadOf(launch);
    if (work.ends_after > 0 && launch.work >= work.ends_after)
      return Leave(slot, Ending::kDone, /*saves=*/true);
    launch.Advance(now_);
    launch.idle = launch.work >= launch.target;
    if (launch.idle) {
      launches_.Unschedule(slot);
      return;
    }
    Work next = (launch.work / work.report_every + 1) * work.report_every;
    next = std::min(next, launch.target);
    if (work.ends_after > 0) next = std::min(next, work.ends_after);
    launch.next_work = next;
    launches_.Schedule(launch.ReportDue(), Moment::kReport, slot);
  }

  void Report(std::uint32_t slot) {
    {
      Launch& launch = launches_[slot];
      launch.Advance(now_);
      // The rounding error of the report's time stays in the progress.
      launch.progress -= static_cast<double>(launch.next_work - launch.work);
      launch.work = launch.next_work;
    }
    const TrialKey key = launches_[slot].trial;
    const LaunchId id = launches_[slot].id;
    Tell(slot);
    // The engine may have ended the launch, and another launch may have its slot.
    if (launches_.Find(key, id) == slot && !launches_[slot].leaving) GoOn(slot);
  }

  void Tell(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    SimulatedStudy& study = StudyOf(launch.trial);
    const Position position{.seq = ++launch.seq, .offset = 0};
    if (launch.work <= launch.known_work)
      return Happen({now_, LaunchHeard{launch.trial, launch.id, position}});
    const double value =
        options_.value
            ? options_.value(launch.trial, engine_.trial(launch.trial)->point, launch.work)
            : launch.curve.At(launch.work);
    auto& report = std::get<Reported>(study.report.body);
    study.report.time = now_;
    report.trial = launch.trial;
    report.launch = launch.id;
    report.position = position;
    report.work = launch.work;
    report.metrics.front().second = value;
    Trace(Number(launch.trial.trial));
    Trace(static_cast<std::uint64_t>(Micros(now_)));
    Trace(std::bit_cast<std::uint64_t>(value));
    Happen(study.report);
    NoteBest(study.id);
  }

  // Notes the study's best value if it has changed.
  void NoteBest(StudyId id) {
    const Study& study = *engine_.study(id);
    if (!IsSet(study.best)) return;
    const double value = study.trial(study.best).result;
    auto& incumbents = result_.studies[Number(id) - 1].incumbents;
    if (incumbents.empty() || incumbents.back().second != value)
      incumbents.emplace_back(now_, value);
  }

  // The launch stops working, saves a checkpoint if it should, and then ends.
  void Leave(std::uint32_t slot, Ending ending, bool saves) {
    Launch& launch = launches_[slot];
    const WorkloadSpec& work = WorkloadOf(launch);
    launch.leaving = true;
    launch.ending = ending;
    // A launch that was still starting up has nothing new to save.
    launch.saves = saves && launch.phase == Phase::kRun;
    usage_.EndPhase(launch, now_);
    speeds_.Part(slot, now_);
    launch.phase = Phase::kSave;
    launches_.Schedule(now_ + (launch.saves ? work.save : Duration(0)), Moment::kLeft, slot);
  }

  void Left(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    usage_.EndPhase(launch, now_);
    const WorkloadSpec& work = WorkloadOf(launch);
    const TrialKey key = launch.trial;
    if (launch.saves) {
      StudyOf(key).Checkpoint(key.trial) = launch.work;
      if (launch.ending == Ending::kPaused || work.checkpoint_bytes > 0) {
        Happen({now_, CheckpointSaved{.trial = key,
                                      .launch = launch.id,
                                      .position = {.seq = ++launch.seq, .offset = 0},
                                      .work = launch.work,
                                      .bytes = work.checkpoint_bytes}});
      }
    }
    auto& ended = std::get<LaunchEnded>(ended_.body);
    ended_.time = now_;
    ended.trial = key;
    ended.launch = launch.id;
    ended.position = {.seq = ++launch.seq, .offset = 0};
    ended.ending = launch.ending;
    ended.reason = launch.reason;
    Free(slot);
    Trace(static_cast<std::uint64_t>(Micros(now_)));
    Happen(ended_);
  }

  // The launch ends without a message; the engine hears only that its node is down.
  void Lose(std::uint32_t slot) {
    usage_.EndPhase(launches_[slot], now_);
    speeds_.Part(slot, now_);
    Free(slot);
  }

  void Free(std::uint32_t slot) {
    usage_.LetGo(launches_[slot].grant, now_);
    launches_.Close(slot);
  }

  std::unexpected<Error> Stuck() const {
    for (const auto& study : engine_.studies()) {
      if (study->finished) continue;
      return FailedPrecondition(
          fmt::format("the policy {} leaves study '{}' unfinished: after {} nothing happens any "
                      "more, and {} of "
                      "its trials wait; this policy cannot run this scenario",
                      options_.policy, study->spec.name, FormatDuration(now_ - Time{}),
                      study->count(TrialState::kWaiting)));
    }
    return FailedPrecondition("the simulation came to a stop before its first study");
  }

  void Finish() {
    result_.end = now_;
    result_.usage = usage_.Take();
    for (const auto& study : engine_.studies()) {
      StudyResult& fared = result_.studies[Number(study->id) - 1];
      fared.finish = study->ending;
      fared.counts = study->counts;
      for (const Trial& trial : study->trials) {
        const double pace = studies_[Number(study->id) - 1]->PaceOf(trial.id);
        fared.trials.push_back({.work = trial.work, .pace = pace});
      }
    }
    result_.trace = trace_;
    result_.digest = Digest().Add(trace_).Add(engine_.Digest()).Value();
    SayProgress();
  }

  const Scenario& scenario_;
  const SimulationOptions& options_;
  SimulationResult result_;
  std::vector<Node> nodes_;  // as they are now: up or down
  Engine engine_;
  SimulatedStudies studies_;
  EventQueue queue_;
  SharedDevices devices_;
  DeviceUsage usage_;
  LaunchTable launches_;
  LaunchSpeeds speeds_;
  Event ended_;
  Time now_{};
  std::size_t finished_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace

Result<SimulationResult> Simulate(const Scenario& scenario, const SimulationOptions& options) {
  SLUICE_ASSIGN(auto policy, MakePolicy(options.policy));
  for (const ScenarioStudy& study : scenario.studies) {
    if (const Status status = CheckPolicy(options.policy, study.spec); !status)
      return FailedPrecondition(
          fmt::format("study '{}': {}", study.spec.name, status.error().message));
  }
  return Simulate(scenario, options, std::move(policy));
}

Result<SimulationResult> Simulate(const Scenario& scenario, const SimulationOptions& options,
                                  std::unique_ptr<Policy> policy) {
  return World(scenario, options, std::move(policy)).Run();
}

}  // namespace sluice
