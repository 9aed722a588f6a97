#pragma once

// For tests: a world in virtual time around an engine. From one seed, the world plays the sampler,
// the executor and the programs, and everything goes wrong that can. Launches fail, vanish, fall
// silent or ignore requests. Messages come twice or late. The controller drains, or dies at any
// event and goes on from what it saved.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/test_engine.h"
#include "engine/test_world/drawn_study.h"
#include "engine/test_world/invariants.h"
#include "search/sampler.h"
#include "search/samplers/explore.h"
#include "search/samplers/test_history.h"

namespace sluice {

// How often a world saw each kind of thing happen. Tests require that every kind was seen.
using Sights = std::map<std::string, int>;

class World {
 public:
  struct Options {
    std::uint64_t seed = 0;
    std::string sampler = "random";
    std::string stopper = "none";
  };

  explicit World(const Options& options) : random_(Random(options.seed).Fork("world")) {
    const std::string source = SourceOf(DrawnStudy(random_, options.sampler, options.stopper));
    created_ = {.study = kStudy,
                .source = source,
                .folder = "/",
                .seed = options.seed,
                .spec = SpecOf(source)};
    auto sampler = MakeSampler(created_.spec.sampler, created_.spec.space, options.seed);
    SLUICE_CHECK(sampler.has_value(), "the sampler goes with the space");
    sampler_ = std::move(*sampler);
    const auto cpus = static_cast<Milli>(1 + random_.Below(4));
    node_ = NodeOf(cpus * kWhole, static_cast<int>(random_.Below(3)));
    if (created_.spec.demand.gpus > 0 && node_.devices.empty()) node_ = NodeOf(2 * kWhole, 2);
    Happen(created_);
    Happen(ControllerStarted{{node_}});
  }

  // One thing happens. Without faults (`faulty` is false) everything goes well, so the study must
  // end.
  void Step(bool faulty) {
    now_ += Duration(static_cast<std::int64_t>(random_.Below(3'000'000)));
    if (wake_ && now_ >= *wake_) {
      wake_.reset();
      return Happen(Woken{});
    }
    if (faulty && random_.Chance(0.04)) return Fault();
    if (!node_.up && (!faulty || random_.Chance(0.3))) return SetNodeUp(true);
    if (engine_->draining() && processes_.empty()) return Restart();
    if (!proposals_.empty() && random_.Chance(0.5)) return AnswerProposal();
    if (!copies_.empty() && random_.Chance(0.5)) return AnswerCopy(faulty);
    if (!processes_.empty()) return Act(AnyProcess(), faulty);
    if (!proposals_.empty()) return AnswerProposal();
    if (!copies_.empty()) return AnswerCopy(faulty);
    if (wake_) now_ = std::max(now_, *wake_);  // nothing to do but wait
  }

  bool finished() const { return study().finished && processes_.empty(); }
  bool stuck() const {
    return processes_.empty() && proposals_.empty() && copies_.empty() && !wake_ &&
           !study().finished && !engine_->draining() && node_.up;
  }

  const Engine& engine() const { return *engine_; }
  const Study& study() const { return *engine_->study(kStudy); }
  const StudyCreated& created() const { return created_; }
  const std::vector<Event>& history() const { return history_; }
  const std::vector<std::uint64_t>& digests() const { return digests_; }
  const Sights& sights() const { return sights_; }
  const Node& node() const { return node_; }
  // The first thing that was wrong; empty if nothing was.
  const std::string& problem() const { return problem_; }
  // Keeps a digest for each event. Off by default, since digests cost more time than all the rest.
  void KeepDigests() { keep_digests_ = true; }

 private:
  // A launch's program, as far as the engine can tell.
  struct Process {
    TrialKey trial;
    LaunchId launch{};
    Work work = 0;
    Work target = kNoLimit;
    std::uint64_t seq = 0;
    bool hears = true;
    std::optional<StopReason> leave_reason;
    std::optional<Reported> last;  // the last report, which may be sent again
  };

  void Say(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  void See(const std::string& sight) { ++sights_[sight]; }

  template <typename Body>
  void Happen(Body body) {
    const Event event{now_, std::move(body)};
    const bool retry = std::holds_alternative<RetryAsked>(event.body);
    std::vector<Command> commands = engine_->Apply(event);
    history_.push_back(event);
    if (keep_digests_) digests_.push_back(engine_->Digest());
    Say(invariants_.Broken(*engine_, study(), node_, given_, retry));
    if (lose_commands_) return;  // the controller died before it could carry them out
    for (const Command& command : commands) {
      std::visit([this](const auto& each) { this->CarryOut(each); }, command);
    }
  }

  void CarryOut(const Propose& command) { proposals_.push_back(command); }
  void CarryOut(const CopyCheckpoint& command) {
    const Trial& fork = study().trial(command.to);
    if (fork.parent != command.from) Say("a copy for another trial's fork");
    const auto saved = disk_.find(command.from);
    if (!disk_.contains(command.to)) {
      if (saved == disk_.end()) return Say("a checkpoint is copied that is not there");
      if (saved->second < fork.forked_at) Say("an older checkpoint is copied than was meant");
      const auto parent = processes_.find({kStudy, command.from});
      if (parent != processes_.end()) Say("a checkpoint is copied while its trial runs");
      disk_[command.to] = saved->second;
    }
    copies_.push_back(command.to);
    See("copied");
  }
  void CarryOut(const Start& command) {
    if (engine_->draining()) Say("a trial was started while draining");
    if (study().finished) Say("a trial of a finished study was started");
    if (processes_.contains(command.trial)) Say("a trial was started twice");
    const Trial& trial = *engine_->trial(command.trial);
    const bool restored = trial.saved_work > 0;
    const Work from = restored ? trial.saved_work : 0;
    if (!trial.CanStart()) Say("a fork was started before it was whole");
    if (restored && !disk_.contains(trial.id)) Say("a checkpoint is believed in that is not there");
    if (trial.IsFork() && Number(command.launch) == 1)
      See(restored ? "fork restored" : "fork from scratch");
    processes_[command.trial] = {.trial = command.trial,
                                 .launch = command.launch,
                                 .work = std::min(from, command.work),
                                 .target = command.target,
                                 .seq = 0,
                                 .hears = random_.Chance(0.7),
                                 .leave_reason = {},
                                 .last = {}};
    if (Number(command.launch) > 1) See(restored ? "restored" : "trained again");
  }
  void CarryOut(const SetBudget& command) {
    const auto found = processes_.find(command.trial);
    if (found == processes_.end() || found->second.launch != command.launch)
      return Say("a budget for a launch that does not run");
    if (command.target <= found->second.work && found->second.hears)
      Say("a budget that is used up already");
    found->second.target = command.target;
  }
  void CarryOut(const StopLaunch& command) {
    static constexpr std::array kWhy = {"complete", "stopped", "paused", "yield",
                                        "study",    "timeout", "lease",  "drain"};
    See(fmt::format("told {}", kWhy[static_cast<std::size_t>(command.reason)]));
    if (std::ranges::find(lost_, std::pair(command.trial, command.launch)) != lost_.end()) return;
    const auto found = processes_.find(command.trial);
    if (found == processes_.end() || found->second.launch != command.launch)
      return Say("a stop for a launch that does not run");
    found->second.leave_reason = command.reason;
  }
  void CarryOut(const Evict& command) {
    disk_.erase(command.trial.trial);
    See("evicted");
  }
  void CarryOut(const WakeAt& command) {
    wake_ = wake_ ? std::min(*wake_, command.time) : command.time;
  }
  void CarryOut(const StudyFinished&) { See("finished"); }

  void AnswerProposal() {
    const Propose asked = proposals_.front();
    const std::uint64_t counter = asked.counter;
    proposals_.pop_front();
    if (IsSet(asked.fork)) {
      return Happen(Proposed{
          .study = kStudy,
          .point = Explore(created_.spec.space, created_.seed, Number(asked.fork),
                           study().trial(asked.parent).point, MayChange(created_.spec.space, {})),
          .fork = asked.fork});
    }
    std::optional<Point> point = sampler_->Propose(counter);
    if (!point) See("exhausted");
    Happen(Proposed{.study = kStudy, .counter = counter, .point = std::move(point)});
  }

  void AnswerCopy(bool faulty) {
    const TrialId fork = copies_.front();
    copies_.pop_front();
    // A copy that is not waited for any more can no longer fail.
    const bool fails =
        faulty && study().trial(fork).copying == Copying::kAsked && random_.Chance(0.1);
    if (fails) disk_.erase(fork);
    if (fails) See("copy failed");
    CheckpointCopied copied{{kStudy, fork}, {}, fails ? "no space left" : ""};
    const auto saved = disk_.find(fork);
    if (saved != disk_.end() && random_.Chance(0.5)) copied.work = saved->second;
    Happen(std::move(copied));
  }

  Process& AnyProcess() {
    auto found = processes_.begin();
    std::advance(found, static_cast<std::ptrdiff_t>(random_.Below(processes_.size())));
    return found->second;
  }

  void Act(Process& process, bool faulty) {
    const bool forced =
        process.leave_reason == StopReason::kTimeout || process.leave_reason == StopReason::kLease;
    if (forced && random_.Chance(0.7)) return EndProcess(process, Ending::kFailed);
    const bool deaf = !process.hears && (process.leave_reason == StopReason::kComplete ||
                                         process.leave_reason == StopReason::kYield);
    if (process.leave_reason && !deaf && random_.Chance(0.5)) {
      const bool pause = process.leave_reason == StopReason::kPaused ||
                         process.leave_reason == StopReason::kYield ||
                         process.leave_reason == StopReason::kDrain;
      return EndProcess(process, !process.hears ? Ending::kFailed
                                 : pause        ? Ending::kPaused
                                                : Ending::kDone);
    }
    if (faulty && random_.Chance(0.05))
      return EndProcess(process, random_.Chance(0.5) ? Ending::kFailed : Ending::kLost);
    if (faulty && random_.Chance(0.03)) return Happen(LeaseExpired{process.trial, process.launch});
    if (faulty && process.last && random_.Chance(0.05)) return SendAgain(process);
    if (random_.Chance(0.15)) return SaveCheckpoint(process);
    const bool unbounded = created_.spec.stopper.max_budget == kNoLimit;
    if (process.work > 20 && unbounded) return EndProcess(process, Ending::kDone);
    if (process.work > 60)
      return EndProcess(process, Ending::kDone);  // a program that ignores requests ends here
    const bool waits = process.hears && process.work >= process.target;
    if (!waits) Report(process);
  }

  void Report(Process& process) {
    process.work = process.hears ? std::min(AnyNextWork(random_, process.work, process.target),
                                            std::max(process.target, process.work + 1))
                                 : AnyNextWork(random_, process.work, process.target);
    Reported report{.trial = process.trial,
                    .launch = process.launch,
                    .position = {.seq = ++process.seq, .offset = 0},
                    .work = process.work,
                    .metrics = {}};
    if (!random_.Chance(0.03)) report.metrics.emplace_back("loss", AnyLoss(random_));
    switch (engine_->Admit(report)) {
      case Admission::kNew: {
        const Trial before = *engine_->trial(report.trial);
        process.last = report;
        Happen(report);
        const Trial& after = *engine_->trial(report.trial);
        if (after.reports != before.reports + 1) Say("a report was not counted");
        if (after.work <= before.work) Say("work did not rise");
        return;
      }
      case Admission::kRetrained:
        See("retrained");
        return Happen(LaunchHeard{report.trial, report.launch, report.position});
      default: return Say("a good report was not admitted");
    }
  }

  void SendAgain(Process& process) {
    See("sent again");
    const std::uint32_t before = engine_->trial(process.trial)->reports;
    if (engine_->Admit(*process.last) != Admission::kSeen)
      Say("a report that was sent again was not known");
    Happen(*process.last);
    if (engine_->trial(process.trial)->reports != before) Say("a report was counted twice");
  }

  void SaveCheckpoint(Process& process) {
    disk_[process.trial.trial] = process.work;
    Happen(CheckpointSaved{.trial = process.trial,
                           .launch = process.launch,
                           .position = {.seq = ++process.seq, .offset = 0},
                           .work = process.work,
                           .bytes = static_cast<std::int64_t>(1 + random_.Below(60))});
  }

  void EndProcess(Process& process, Ending ending) {
    const Process gone = std::move(process);
    processes_.erase(gone.trial);
    See(fmt::format("ended {}", static_cast<int>(ending)));
    const bool bad = ending == Ending::kFailed || ending == Ending::kLost;
    Happen(LaunchEnded{.trial = gone.trial,
                       .launch = gone.launch,
                       .position = {},
                       .ending = ending,
                       .reason = bad ? "killed" : "",
                       .checkpoint_bytes = -1});
    const Reported late{.trial = gone.trial,
                        .launch = gone.launch,
                        .position = {.seq = gone.seq + 1, .offset = 0},
                        .work = 1000,
                        .metrics = {}};
    if (engine_->Admit(late) != Admission::kStale) Say("an ended launch is still heard");
  }

  // A lost node takes its processes with it, as far as the engine can tell.
  void SetNodeUp(bool up) {
    See(up ? "node back" : "node lost");
    node_.up = up;
    const std::map<TrialKey, Process> gone = up ? std::map<TrialKey, Process>() : processes_;
    if (!up) processes_.clear();
    // The end of one launch can make the engine tell another launch to leave, although that launch
    // was lost too and its end is only recorded next.
    for (const auto& [key, process] : gone) lost_.emplace_back(key, process.launch);
    Happen(NodesChanged{{node_}});
    lost_.clear();
    if (!up && engine_->running() > 0) Say("a trial runs on a lost node");
    for (const auto& [key, process] : gone) {
      const Reported late{.trial = key,
                          .launch = process.launch,
                          .position = {.seq = process.seq + 1, .offset = 0},
                          .work = 1000,
                          .metrics = {}};
      if (engine_->Admit(late) != Admission::kStale) Say("a lost launch is still heard");
    }
  }

  void Fault() {
    switch (random_.Below(8)) {
      case 0: return Happen(DrainAsked{});
      case 1:
        See("resumed");
        return Happen(StudyResumed{
            .study = kStudy,
            .trials = random_.Chance(0.3) ? std::optional(study().trials_wanted + 1) : std::nullopt,
            .deadline = random_.Chance(0.5) ? std::optional(now_ + std::chrono::seconds(100))
                                            : std::nullopt});
      case 2:
        if (random_.Chance(0.3)) Happen(StudyStopAsked{kStudy});
        return;
      case 3: return random_.Chance(0.7) ? RetrySome() : StopSome();
      case 4: return EnqueueSome();
      case 7: return SetNodeUp(!node_.up);
      case 5: return Die(/*losing_commands=*/false);
      default: return Die(/*losing_commands=*/true);
    }
  }

  // The user's own points, which may come at any time. A controller then makes a plan (Woken).
  void EnqueueSome() {
    See("enqueued");
    PointsEnqueued event{kStudy, {}};
    for (std::uint64_t left = 1 + random_.Below(3); left > 0; --left) {
      std::vector<double> unit(created_.spec.space.size());
      for (double& coordinate : unit) coordinate = random_.Uniform();
      event.points.push_back(created_.spec.space.FromUnit(unit));
      given_.push_back(event.points.back());
    }
    Happen(std::move(event));
    if (random_.Chance(0.5)) Happen(Woken{});
  }

  void RetrySome() {
    for (const Trial& trial : study().trials) {
      if (trial.state != TrialState::kFailed && trial.state != TrialState::kStopped) continue;
      See("retried");
      return Happen(RetryAsked{{kStudy, trial.id}});
    }
  }

  void StopSome() {
    const auto& trials = study().trials;
    if (trials.empty()) return;
    const Trial& trial = trials[random_.Below(trials.size())];
    if (CanBeStopped(trial)) See("stopped by hand");
    Happen(TrialStopAsked{{kStudy, trial.id}});
  }

  // kill -9: the engine goes on from its snapshot. Its last commands may not have been carried out.
  void Die(bool losing_commands) {
    if (losing_commands && !processes_.empty()) {
      lose_commands_ = true;
      Act(AnyProcess(), /*faulty=*/true);
      lose_commands_ = false;
      See("commands lost");
    }
    auto next = NewEngine();
    if (const Status loaded = next->Load(engine_->Save(), {created_}); !loaded)
      return Say(loaded.error().message);
    if (next->Digest() != engine_->Digest()) Say("a snapshot changes the digest");
    engine_ = std::move(next);
    See("died");
    Restart();
  }

  // A controller takes over. It looks for every launch that should run, and repeats the commands
  // that the launch may have missed.
  void Restart() {
    proposals_.clear();
    copies_.clear();
    wake_.reset();
    for (auto& [key, process] : processes_) process.leave_reason.reset();
    const std::map<TrialKey, Process> before = processes_;
    std::vector<Command> unfinished = engine_->Unfinished();
    lose_commands_ = false;
    // Copies are made before anything new starts.
    for (const Command& command : unfinished) {
      if (const auto* copy = std::get_if<CopyCheckpoint>(&command)) CarryOut(*copy);
    }
    Happen(ControllerStarted{{node_}});
    for (const Command& command : unfinished) {
      if (std::holds_alternative<CopyCheckpoint>(command)) continue;
      if (const auto* start = std::get_if<Start>(&command)) {
        const auto found = before.find(start->trial);
        if (found != before.end() && found->second.launch == start->launch) {
          processes_[start->trial].target = start->target;
        } else {
          See("never started");
          lost_.push_back({start->trial, start->launch});
        }
      } else if (const auto* stop = std::get_if<StopLaunch>(&command)) {
        const auto found = processes_.find(stop->trial);
        if (found != processes_.end()) found->second.leave_reason = stop->reason;
      } else {
        std::visit([this](const auto& each) { this->CarryOut(each); }, command);
      }
    }
    // Commands to launches whose end the engine has not heard of yet reach no process.
    while (!lost_.empty()) {
      const auto [trial, launch] = lost_.front();
      Happen(LaunchEnded{.trial = trial,
                         .launch = launch,
                         .position = {},
                         .ending = Ending::kLost,
                         .reason = "",
                         .checkpoint_bytes = -1});
      lost_.pop_front();
    }
  }

  Random random_;
  StudyCreated created_;
  std::unique_ptr<Sampler> sampler_;
  Node node_;
  std::unique_ptr<Engine> engine_ = NewEngine();
  Time now_{};
  std::optional<Time> wake_;
  std::deque<Propose> proposals_;
  std::deque<TrialId> copies_;    // copies that are made, but not reported to the engine yet
  std::map<TrialId, Work> disk_;  // the checkpoints that exist, by trial, with their work
  std::map<TrialKey, Process> processes_;
  std::deque<std::pair<TrialKey, LaunchId>> lost_;  // launches without a process
  std::vector<Point> given_;                        // all points that were enqueued
  bool lose_commands_ = false;
  bool keep_digests_ = false;
  std::vector<Event> history_;
  std::vector<std::uint64_t> digests_;
  Invariants invariants_;
  Sights sights_;
  std::string problem_;
};

}  // namespace sluice
