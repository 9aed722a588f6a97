#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "control/controller.h"
#include "control/site.h"
#include "rig/fault_ground.h"
#include "rig/fault_machine.h"
#include "rig/study_checker.h"

namespace sluice {

// A controller's view of simulated machines, for the time that it drives a study.
class FaultSite final : public Site, public Listener {
 public:
  FaultSite(StudyId study, FaultGround& ground, StudyChecker& checker, FaultMachine& machine)
      : study_(study), ground_(ground), checker_(checker), machine_(machine) {}
  ~FaultSite() override;

  void Attach(Controller& controller) { controller_ = &controller; }
  // Accepts connections from now on.
  void Listen() { ground_.SetListener(this); }
  // Whether a checkpoint is being copied.
  bool Copies() const { return !copied_.empty(); }
  // Tells the controller of workers that were lost with their node.
  void TellLost(const std::vector<std::string>& workers);

  Time Now() const override { return machine_.Now(); }
  TimerId At(Time time, std::function<void()> handler) override;
  void Cancel(TimerId timer) override;
  Status Spawn(const Trial& trial) override;
  Status Claim(const std::string& worker, const Trial& trial) override;
  Inherited Look(wire::LaunchRef at) override;
  bool Reach(const std::string& worker) override;
  Speaker WhoSpeaks(const std::string& worker) override;
  void Spoke(const std::string& worker, const Speaker& speaker) override;
  Result<Speaker> Identify(PeerId peer, const std::string& worker,
                           const std::string& secret) override;
  bool Lives(const Speaker& speaker) override { return ground_.Lives(speaker); }
  void Signal(const std::string& worker, Force force) override;
  std::uint64_t ReadOutput(const std::string& worker, std::uint64_t from, bool at_end,
                           const LineHandler& handler) override;
  void WatchOutput(const std::string&) override {}
  std::vector<std::string> Spool(wire::LaunchRef at) override;
  LaunchEnd EndOf(wire::LaunchRef at, const std::string& worker) override;
  LaunchPlaces PlacesOf(wire::LaunchRef at) const override;
  std::int64_t CheckpointBytes(TrialId trial) override;
  Work CheckpointWork(TrialId trial) override { return ground_.CheckpointOf(trial).work; }
  void RemoveCheckpoint(TrialId trial) override;
  void CopyCheckpoint(TrialId from, TrialId to, Work end,
                      std::function<void(const CopyResult&)> done) override;
  void Send(PeerId peer, const wire::ToWorker& message) override;
  void Close(PeerId peer) override;

  void Connected(PeerId peer) override;
  void Heard(PeerId peer, std::string_view line) override;
  void Closed(PeerId peer) override;
  void OutputGrew(const std::string& worker) override;
  void HostEnded(const std::string& worker) override;

 private:
  CopyResult MakeCopy(TrialId from, TrialId to, Work end);
  void CheckOrigin(const Trial& trial);
  void CheckAsked(const std::string& worker);
  void CheckNotCopied(TrialId trial, std::string_view what);

  StudyId study_;
  FaultGround& ground_;
  StudyChecker& checker_;
  FaultMachine& machine_;
  Controller* controller_ = nullptr;
  std::set<TimerId> timers_;
  std::multiset<TrialId> copied_;  // trials that a checkpoint is being copied from or to
  std::set<std::string> known_;    // hosts whose ends are reported to the controller
};

}  // namespace sluice
