#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/digest.h"
#include "base/random.h"
#include "cluster/width.h"
#include "engine/observation.h"
#include "engine/points.h"
#include "engine/read/study_keys.h"
#include "policy/policy.h"
#include "search/sampler.h"
#include "search/samplers/explore.h"
#include "sim/event_queue.h"
#include "sim/shared_devices.h"
#include "sim/simulated_launch.h"
#include "sim/watched_policy.h"

namespace sluice {
namespace {

constexpr std::int64_t kProgressEvery = 1 << 16;
constexpr std::int64_t kForgetEvery = 1 << 10;

constexpr double kSlowest = 1e-6;  // units a second

constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

using Launch = SimulatedLaunch;

// The launches of a bundle, which are one program.
struct Bundle {
  int members = 0;
  Time since{};
};

// A study and what the world knows of it.
struct Player {
  const ScenarioStudy* study = nullptr;
  StudyId id{};
  TrueSpeed speed;
  LearningCurves curves;
  std::unique_ptr<Sampler> sampler;
  bool learns = false;
  Random trials;                    // the random stream by which trials differ in pace
  std::vector<std::uint32_t> slot;  // of each trial's launch, by its number; kNoSlot: none
  std::vector<Work> checkpoint;     // of each trial, by its number
  Event report;                     // used again and again

  // Makes room for the slot and the checkpoint of a trial.
  void Know(TrialId trial) {
    if (slot.size() > Number(trial)) return;
    slot.resize(Number(trial) + 1, kNoSlot);
    checkpoint.resize(Number(trial) + 1, 0);
  }

  // How quick a trial is beside the others, if it has a program of its own.
  double PaceOf(TrialId trial) const {
    const double spread = study->workload.spread;
    return spread > 0 ? std::exp(-spread * trials.Fork(Number(trial)).Normal()) : 1;
  }
};

class World {
 public:
  World(const Scenario& scenario, const SimulationOptions& options, std::unique_ptr<Policy> policy)
      : scenario_(scenario),
        options_(options),
        nodes_(scenario.nodes),
        engine_(std::make_unique<WatchedPolicy>(std::move(policy), options.stopwatch_ns,
                                                result_.decisions)),
        devices_(scenario.nodes) {
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
    while (finished_ < players_.size()) {
      if (queue_.empty()) return Stuck();
      Next();
    }
    Finish();
    return std::move(result_);
  }

 private:
  Status Arrivals() {
    const Random seeds = Random(options_.seed).Fork("study");
    for (const ScenarioStudy& study : scenario_.studies) {
      const std::uint64_t seed = study.spec.seed.value_or(seeds.Fork(study.spec.name).Next() >> 1);
      SLUICE_ASSIGN(auto sampler, MakeSampler(study.spec.sampler, study.spec.space, seed));
      Player& player = *players_.emplace_back(std::make_unique<Player>(
          Player{.study = &study,
                 .id = StudyId(static_cast<std::uint32_t>(players_.size() + 1)),
                 .speed = TrueSpeed(study.workload),
                 .curves = LearningCurves(study.curve, study.spec, options_.seed),
                 .sampler = std::move(sampler),
                 .learns = Learns(study.spec.sampler.name),
                 .trials = Random(options_.seed).Fork("trials").Fork(study.spec.name),
                 .slot = {},
                 .checkpoint = {},
                 .report = {}}));
      player.report.body = Reported{.trial = {player.id, {}},
                                    .launch = {},
                                    .position = {},
                                    .work = 0,
                                    .metrics = {{study.spec.objective.metric, 0}}};
      SLUICE_ASSIGN(auto points, FillInAll(study.spec.space, study.spec.enqueue, seed, 0));
      created_.push_back(
          {.study = player.id, .source = "", .folder = "", .seed = seed, .spec = study.spec});
      enqueued_.push_back({.study = player.id, .points = std::move(points)});
      result_.studies.push_back({.name = study.spec.name, .arrived = Time(study.arrives)});
      queue_.Push(Time(study.arrives), {.what = Moment::kArrival, .index = Number(player.id) - 1});
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
      case Moment::kArrival:
        Happen({now_, created_[moment.index]});
        if (!enqueued_[moment.index].points.empty()) Happen({now_, enqueued_[moment.index]});
        return;
      case Moment::kAnswer: return Answer(*players_[moment.index], moment.counter);
      case Moment::kFork: return AnswerFork(*players_[moment.index], TrialId(moment.counter));
      case Moment::kCopied: return Copied(*players_[moment.index], TrialId(moment.counter));
      case Moment::kWake: return Happen({now_, Woken{}});
      case Moment::kReady:
        if (IsCurrent(moment)) Ready(moment.index);
        return;
      case Moment::kReport:
        if (IsCurrent(moment)) Report(moment.index);
        return;
      case Moment::kLeft:
        if (IsCurrent(moment)) Left(moment.index);
        return;
      case Moment::kDown: return GoDown(scenario_.failures[moment.index].node);
      case Moment::kUp: return ComeBack(scenario_.failures[moment.index].node);
    }
  }

  // All launches on the node are lost, with the work they did since they last saved.
  void GoDown(NodeId node) {
    for (std::uint32_t slot = 0; slot < launches_.size(); ++slot) {
      const Launch& launch = launches_[slot];
      if (launch.grant.node == node && SlotOf(launch.trial, launch.id) == slot) Lose(slot);
    }
    nodes_[Number(node) - 1].up = false;
    Happen({now_, NodesChanged{nodes_}});
  }
  void ComeBack(NodeId node) {
    nodes_[Number(node) - 1].up = true;
    Happen({now_, NodesChanged{nodes_}});
  }

  bool IsCurrent(const Moment& moment) const {
    return launches_[moment.index].version == moment.counter;
  }
  void Schedule(Time time, Moment::What what, std::uint32_t slot) {
    queue_.Push(time, {.what = what, .index = slot, .counter = ++launches_[slot].version});
  }

  // Applies one event, and carries out the engine's commands.
  void Happen(const Event& event) {
    std::vector<Command> commands = engine_.Apply(event);
    ++result_.events;
    Trace(event.body.index());
    for (const Command& command : commands) {
      std::visit([this](const auto& each) { CarryOut(each); }, command);
    }
    if (result_.events % kForgetEvery == 0) TellSamplers();
    if (result_.events % kProgressEvery == 0) SayProgress();
  }

  // Cheaper than a Digest: it is called a few times for each event.
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
      Player& player = *players_[Number(key.study) - 1];
      if (!player.learns) continue;
      const Trial& trial = *engine_.trial(key);
      if (trial.IsFork()) continue;  // as in production
      player.sampler->Observe(ObservationOf(player.study->spec, trial));
    }
  }

  void Answer(Player& player, std::uint64_t counter) {
    if (player.learns) TellSamplers();
    Happen({now_, Proposed{.study = player.id,
                           .counter = counter,
                           .point = player.sampler->Propose(counter),
                           .fork = {}}});
  }
  void AnswerFork(Player& player, TrialId fork) {
    const Study& study = *engine_.study(player.id);
    const Point& parent = study.trial(study.trial(fork).parent).point;
    Happen({now_, Proposed{.study = player.id,
                           .counter = 0,
                           .point = Explore(study.spec.space, study.seed, Number(fork), parent,
                                            MayChange(study.spec.space, study.spec.stopper.mutate)),
                           .fork = fork}});
  }
  void Copied(Player& player, TrialId copy) {
    const Work work = player.checkpoint[Number(copy)];
    Happen({now_, CheckpointCopied{.trial = {player.id, copy},
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
    Player& player = *players_[Number(command.study) - 1];
    player.Know(command.to);
    player.checkpoint[Number(command.to)] = player.checkpoint[Number(command.from)];
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
    players_[Number(command.trial.study) - 1]->checkpoint[Number(command.trial.trial)] = 0;
  }

  void CarryOut(const SetBudget& command) {
    const std::uint32_t slot = SlotOf(command.trial, command.launch);
    if (slot == kNoSlot || launches_[slot].leaving) return;
    launches_[slot].target = command.target;
    if (launches_[slot].idle) GoOn(slot);  // else it sees the new target after its next report
  }

  void CarryOut(const Start& command) {
    Player& player = *players_[Number(command.trial.study) - 1];
    const std::size_t number = Number(command.trial.trial);
    player.Know(command.trial.trial);
    const std::uint32_t slot = NewSlot();
    player.slot[number] = slot;
    Launch& launch = launches_[slot];
    const std::uint32_t version = launch.version;
    launch = {};
    launch.version = version;
    launch.trial = command.trial;
    launch.id = command.launch;
    launch.target = command.target;
    launch.known_work = command.work;
    launch.work = player.checkpoint[number];
    launch.grant = command.grant;
    launch.phase_began = now_;
    Hold(launch.grant);
    launch.curve = player.curves.Of(engine_.trial(command.trial)->point);
    const WorkloadSpec& work = player.study->workload;
    // The trials of a bundle are one program, and all take the same time.
    if (!IsSet(launch.grant.bundle)) launch.spread = player.PaceOf(command.trial.trial);
    const Duration wait = work.start_up + (launch.work > 0 ? work.restore : Duration(0));
    Trace(number);
    Schedule(now_ + wait, Moment::kReady, slot);
  }

  void CarryOut(const StopLaunch& command) {
    const std::uint32_t slot = SlotOf(command.trial, command.launch);
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

  std::uint32_t NewSlot() {
    if (free_slots_.empty()) {
      launches_.emplace_back();
      return static_cast<std::uint32_t>(launches_.size() - 1);
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  std::uint32_t SlotOf(TrialKey trial, LaunchId id) const {
    const std::vector<std::uint32_t>& slots = players_[Number(trial.study) - 1]->slot;
    const std::uint32_t slot =
        Number(trial.trial) < slots.size() ? slots[Number(trial.trial)] : kNoSlot;
    return slot != kNoSlot && launches_[slot].id == id ? slot : kNoSlot;
  }

  Player& PlayerOf(const Launch& launch) { return *players_[Number(launch.trial.study) - 1]; }

  // The program is up: it takes its memory and works.
  void Ready(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    EndPhase(launch);
    launch.phase = Phase::kRun;
    const WorkloadSpec& work = PlayerOf(launch).study->workload;
    // A launch that joins a bundle takes only its own part of the memory.
    const bool joins = IsSet(launch.grant.bundle) && devices_.Has(launch.grant);
    const std::int64_t needed = joins ? work.fused_bytes : work.memory_bytes;
    for (const DeviceId id : launch.grant.devices) {
      const std::int64_t free = devices_.FreeBytes(launch.grant, id);
      if (needed <= free) continue;
      launch.reason =
          fmt::format("out of memory on {}: {} MB needed, {} MB free",
                      devices_.at(launch.grant, id).uuid, needed / 1'000'000, free / 1'000'000);
      return Leave(slot, Ending::kFailed, /*saves=*/false);
    }
    Join(slot);
    launch.since = now_;
    GoOn(slot);
  }

  TrueSpeed::Circumstances CircumstancesOf(Launch& launch) {
    const TrueSpeed& speed = PlayerOf(launch).speed;
    TrueSpeed::Circumstances at;
    const Grant& grant = launch.grant;
    const bool elastic = PlayerOf(launch).study->spec.demand.most > 0;
    if (elastic || !grant.devices.empty()) at.width = static_cast<double>(WidthOf(grant)) / kWhole;
    if (grant.devices.empty()) return at;
    if (launch.tenant) at.fused = devices_.Fused(grant, *launch.tenant);
    at.neighbours = launch.neighbours.busy;
    at.others_move = launch.neighbours.bandwidth;
    double slowest = std::numeric_limits<double>::infinity();
    for (const DeviceId id : grant.devices) {
      const std::string& kind = devices_.at(grant, id).kind;
      const double quick = speed.KindSpeed(kind);
      if (quick >= slowest) continue;
      slowest = quick;
      at.kind = kind;
    }
    return at;
  }

  // From now on the launch and its neighbours slow each other down.
  void Join(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    const TrueSpeed& speed = PlayerOf(launch).speed;
    const WorkloadSpec& work = speed.workload();
    const auto at = CircumstancesOf(launch);
    const double busy =
        launch.grant.devices.empty() ? 0 : speed.Busy(at.kind, std::min(at.width, 1.0));
    launch.tenant = {.slot = slot,
                     .busy = busy,
                     .bandwidth = launch.grant.devices.empty() ? 0 : work.bandwidth,
                     .bytes = work.memory_bytes};
    if (IsSet(launch.grant.bundle)) {
      launch.tenant->bundle = launch.grant.bundle;
      launch.tenant->bytes = work.fused_bytes;
      launch.tenant->program_bytes = work.memory_bytes - work.fused_bytes;
    }
    devices_.Join(launch.grant, *launch.tenant);
    SetRate(launch);
    Reconsider(slot);
  }

  void Part(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    if (!launch.tenant) return;
    devices_.Part(launch.grant, *launch.tenant);
    launch.tenant.reset();
    Reconsider(slot);
  }

  // Sets new speeds for all other launches that share a device with this one.
  void Reconsider(std::uint32_t slot) {
    devices_.ForOthers(launches_[slot].grant, slot, [&](std::uint32_t other) {
      Launch& launch = launches_[other];
      launch.Advance(now_);
      SetRate(launch);
      if (launch.Works() && !launch.leaving) Schedule(launch.ReportDue(), Moment::kReport, other);
    });
  }

  void SetRate(Launch& launch) {
    launch.neighbours = devices_.Neighbours(launch.grant, *launch.tenant);
    launch.rate = PlayerOf(launch).speed.Of(CircumstancesOf(launch)) * launch.spread;
    if (launch.grant.devices.empty()) return;
    const Device& device = devices_.at(launch.grant, launch.grant.devices.front());
    if (device.IsLent()) {
      const Lender& lender = scenario_.lenders.at(device.uuid);
      launch.rate *= scenario_.pipeline_jobs[lender.job].usable_share(
          lender.stage, PlayerOf(launch).study->workload.segment);
      // Where no segment fits into a bubble, the launch all but stands still.
      launch.rate = std::max(launch.rate, kSlowest);
    }
  }

  // The launch works towards its next report, or is idle at its target until a verdict comes.
  void GoOn(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    const WorkloadSpec& work = PlayerOf(launch).study->workload;
    if (work.ends_after > 0 && launch.work >= work.ends_after)
      return Leave(slot, Ending::kDone, /*saves=*/true);
    launch.Advance(now_);
    launch.idle = launch.work >= launch.target;
    if (launch.idle) {
      ++launch.version;
      return;
    }
    Work next = (launch.work / work.report_every + 1) * work.report_every;
    next = std::min(next, launch.target);
    if (work.ends_after > 0) next = std::min(next, work.ends_after);
    launch.next_work = next;
    Schedule(launch.ReportDue(), Moment::kReport, slot);
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
    if (SlotOf(key, id) == slot && !launches_[slot].leaving) GoOn(slot);
  }

  void Tell(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    Player& player = PlayerOf(launch);
    const Position position{.seq = ++launch.seq, .offset = 0};
    if (launch.work <= launch.known_work)
      return Happen({now_, LaunchHeard{launch.trial, launch.id, position}});
    const double value =
        options_.value
            ? options_.value(launch.trial, engine_.trial(launch.trial)->point, launch.work)
            : launch.curve.At(launch.work);
    auto& report = std::get<Reported>(player.report.body);
    player.report.time = now_;
    report.trial = launch.trial;
    report.launch = launch.id;
    report.position = position;
    report.work = launch.work;
    report.metrics.front().second = value;
    Trace(Number(launch.trial.trial));
    Trace(static_cast<std::uint64_t>(Micros(now_)));
    Trace(std::bit_cast<std::uint64_t>(value));
    Happen(player.report);
    NoteBest(player.id);
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

  // The launch stops working, saves if it is to, and then is gone.
  void Leave(std::uint32_t slot, Ending ending, bool saves) {
    Launch& launch = launches_[slot];
    const WorkloadSpec& work = PlayerOf(launch).study->workload;
    launch.leaving = true;
    launch.ending = ending;
    // A launch that was still starting up has nothing that its last checkpoint does not have.
    launch.saves = saves && launch.phase == Phase::kRun;
    EndPhase(launch);
    Part(slot);
    launch.phase = Phase::kSave;
    Schedule(now_ + (launch.saves ? work.save : Duration(0)), Moment::kLeft, slot);
  }

  void Left(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    EndPhase(launch);
    Player& player = PlayerOf(launch);
    const WorkloadSpec& work = player.study->workload;
    const TrialKey key = launch.trial;
    if (launch.saves) {
      player.checkpoint[Number(key.trial)] = launch.work;
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
    EndPhase(launches_[slot]);
    Part(slot);
    Free(slot);
  }

  void Free(std::uint32_t slot) {
    Launch& launch = launches_[slot];
    PlayerOf(launch).slot[Number(launch.trial.trial)] = kNoSlot;
    ++launch.version;
    LetGo(launch.grant);
    free_slots_.push_back(slot);
  }

  // Counts the shares of devices that are held. The launches of a bundle hold theirs once.
  void Hold(const Grant& grant) {
    if (IsSet(grant.bundle) && bundles_[grant.bundle].members++ > 0) return;
    if (IsSet(grant.bundle)) bundles_[grant.bundle].since = now_;
    shares_ += WidthOnDevices(grant);
    result_.most_shares = std::max(result_.most_shares, shares_);
  }
  void LetGo(const Grant& grant) {
    if (IsSet(grant.bundle)) {
      Bundle& bundle = bundles_[grant.bundle];
      if (--bundle.members > 0) return;
      result_.device_seconds[static_cast<std::size_t>(Phase::kRun)] +=
          Seconds(now_ - bundle.since) * static_cast<double>(WidthOnDevices(grant)) / kWhole;
    }
    shares_ -= WidthOnDevices(grant);
  }
  static Milli WidthOnDevices(const Grant& grant) {
    return grant.gpu_share * static_cast<Milli>(grant.devices.size());
  }

  // Books the time since the phase began.
  void EndPhase(Launch& launch) {
    const Duration took = now_ - launch.phase_began;
    const Time began = std::exchange(launch.phase_began, now_);
    if (took <= Duration(0)) return;
    const Grant& grant = launch.grant;
    const auto phase = static_cast<std::size_t>(launch.phase);
    if (grant.devices.empty()) {
      result_.core_seconds[phase] += Seconds(took) * static_cast<double>(grant.cpus) / kWhole;
      Record(launch, result_.devices + Number(grant.node) - 1, grant.cpus, began);
      return;
    }
    // The time of a bundle is counted once, when its last member leaves.
    if (!IsSet(grant.bundle)) {
      result_.device_seconds[phase] +=
          Seconds(took) * static_cast<double>(WidthOnDevices(grant)) / kWhole;
    }
    for (const DeviceId id : grant.devices) {
      Record(launch, devices_.IndexOf(grant, id), grant.gpu_share, began);
    }
  }

  void Record(const Launch& launch, std::size_t row, Milli share, Time began) {
    if (!options_.record_intervals) return;
    result_.intervals.push_back({.row = static_cast<std::uint32_t>(row),
                                 .study = launch.trial.study,
                                 .trial = launch.trial.trial,
                                 .phase = launch.phase,
                                 .share = share,
                                 .begin = began,
                                 .end = now_});
  }

  std::unexpected<Error> Stuck() const {
    for (const auto& study : engine_.studies()) {
      if (study->finished) continue;
      return FailedPrecondition(
          fmt::format("the policy {} leaves study '{}' unfinished: after {} nothing happens any "
                      "more, and {} of "
                      "its trials wait; it cannot run this scenario",
                      options_.policy, study->spec.name, FormatDuration(now_ - Time{}),
                      study->count(TrialState::kWaiting)));
    }
    return FailedPrecondition("the simulation came to a stop before its first study");
  }

  void Finish() {
    result_.end = now_;
    for (const auto& study : engine_.studies()) {
      StudyResult& fared = result_.studies[Number(study->id) - 1];
      fared.finish = study->ending;
      fared.counts = study->counts;
      for (const Trial& trial : study->trials) {
        const double pace = players_[Number(study->id) - 1]->PaceOf(trial.id);
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
  std::vector<Node> nodes_;  // with whether they are up
  Engine engine_;
  std::vector<std::unique_ptr<Player>> players_;  // study n is at n - 1
  std::vector<StudyCreated> created_;
  std::vector<PointsEnqueued> enqueued_;
  SharedDevices devices_;
  std::deque<Launch> launches_;  // a deque: launches do not move in memory
  std::vector<std::uint32_t> free_slots_;
  EventQueue queue_;
  Event ended_;
  Time now_{};
  std::size_t finished_ = 0;
  std::uint64_t trace_ = 0;
  Milli shares_ = 0;  // of devices, that are held now
  std::map<BundleId, Bundle> bundles_;
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
