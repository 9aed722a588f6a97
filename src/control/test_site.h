#pragma once

// For tests: the surroundings of a controller, in which nothing happens unless the test says so.

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "control/site.h"
#include "ledger/committer.h"

namespace sluice {

// A site on which processes and copies begin and end when the test says so. It records what it is
// asked for.
class IdleSite final : public Site {
 public:
  using Done = std::function<void(const CopyResult&)>;

  std::vector<std::string> TakeCalls() { return std::exchange(calls_, {}); }
  Done TakeCopy() { return std::exchange(copy_, nullptr); }
  LaunchEnd::Kind end = LaunchEnd::Kind::kPaused;  // of all launches
  std::optional<Speaker> speaker;                  // of all connections; nullopt: nothing connects
  std::map<wire::LaunchRef, std::vector<std::string>> spools;

  Time Now() const override { return Time{}; }
  TimerId At(Time time, std::function<void()>) override {
    if (time == Time{} + Timeouts{}.grace) calls_.push_back("wait for the grace period");
    return 1;
  }
  void Cancel(TimerId) override {}
  Status Spawn(const Trial& trial) override {
    calls_.push_back(fmt::format("start {}.{}", Number(trial.id), Number(trial.launch.id)));
    return {};
  }
  Status Claim(const std::string&, const Trial&) override { return {}; }
  Inherited Look(wire::LaunchRef) override { return {}; }
  bool Reach(const std::string&) override { return false; }
  Speaker WhoSpeaks(const std::string&) override { return {}; }
  void Spoke(const std::string&, const Speaker&) override {}
  Result<Speaker> Identify(PeerId, const std::string&, const std::string&) override {
    if (speaker) return *speaker;
    return FailedPrecondition("nothing connects");
  }
  bool Lives(const Speaker&) override { return false; }
  void Signal(const std::string& worker, Force) override { calls_.push_back("signal " + worker); }
  std::uint64_t ReadOutput(const std::string&, std::uint64_t from, bool,
                           const LineHandler&) override {
    return from;
  }
  void WatchOutput(const std::string&) override {}
  std::vector<std::string> Spool(wire::LaunchRef at) override { return spools[at]; }
  LaunchEnd EndOf(wire::LaunchRef, const std::string&) override { return {end, ""}; }
  LaunchPlaces PlacesOf(wire::LaunchRef) const override { return {}; }
  std::int64_t CheckpointBytes(TrialId) override { return 100; }
  Work CheckpointWork(TrialId) override { return 4; }
  void RemoveCheckpoint(TrialId trial) override {
    calls_.push_back(fmt::format("remove {}", Number(trial)));
  }
  void CopyCheckpoint(TrialId from, TrialId to, Work, Done done) override {
    calls_.push_back(fmt::format("copy {} to {}", Number(from), Number(to)));
    copy_ = std::move(done);
  }
  void Send(PeerId, const wire::ToWorker& message) override {
    if (const auto* assign = std::get_if<wire::Assign>(&message)) {
      calls_.push_back(
          fmt::format("assign {}.{}", Number(assign->at.trial), Number(assign->at.launch)));
    }
    if (const auto* refuse = std::get_if<wire::Refuse>(&message)) {
      calls_.push_back(refuse->at ? fmt::format("refuse {}.{}", Number(refuse->at->trial),
                                                Number(refuse->at->launch))
                                  : "refuse the process");
    }
  }
  void Close(PeerId) override {}

 private:
  std::vector<std::string> calls_;
  Done copy_;
};

class OneBatchCommitter final : public Committer {
 public:
  bool busy() const override { return is_busy; }
  void Submit(Batch) override { is_busy = true; }
  bool is_busy = false;
};

class MuteSearcher final : public Searcher {
 public:
  void Observe(Observation) override {}
  void Ask(std::uint64_t) override {}
  void AskFork(TrialId, std::function<Point()>) override {}
};

}  // namespace sluice
