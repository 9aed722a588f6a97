#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "control/controller.h"
#include "engine/read/study_change.h"
#include "rig/checker.h"
#include "rig/disk/memory_disk.h"
#include "rig/fault_tenant.h"
#include "sim/timeline.h"

namespace sluice {

// Studies in a world with faults: the production controller, ledger, engine, samplers and protocol,
// on simulated machines in virtual time, all drawn from one seed. Faults occur during the first
// `events` events. Then the world heals: no more faults occur, and every study must come to its
// end.
class FaultWorld {
 public:
  struct Options {
    std::uint64_t seed = 0;
    std::uint64_t events = 5000;  // before it heals
    bool bundles = false;         // every study has a program that trains several trials at once
    // There are several studies, which come, pause, end, and share the machines meanwhile.
    bool several = false;
    // Controllers also die in the middle of a call, by an exception that unwinds it.
    bool unwinds = true;
  };
  struct Outcome {
    std::string problem;  // the first; empty if all went well
    std::string state;    // of the studies at the end, for people
    std::uint64_t events = 0;
    std::uint64_t digest = 0;  // of the engines at the end
    Time end{};
    std::map<std::string, int> sights;  // what was seen to happen, and how often
  };

  explicit FaultWorld(const Options& options);
  ~FaultWorld();

  Outcome Run();

 private:
  static constexpr const char* kStore = "/sim.db";

  struct Life;  // of a controller

  std::string DescribeState() const;
  std::string Describe(const FaultTenant& tenant) const;
  void Step();
  void PlanFaults();
  void Plan(Duration FaultPlan::* mean, void (FaultWorld::*what)());
  Duration Around(Duration mean);

  void DrawTenants();
  FaultTenant& TenantOf(StudyId study) { return *tenants_.at(Number(study) - 1); }
  const FaultGround& ground() const { return *tenants_.front()->ground; }
  Status CreateStudy(const FaultTenant& tenant, Ledger& ledger);
  void CreateStudyAgainAndAgain();
  std::vector<Point> DrawPoints(const FaultTenant& tenant, std::size_t count);
  void CheckEnding(const FaultTenant& tenant, const LaunchEnded& ended);
  void CheckEvent(const Event& event);
  Status DamageSnapshot(Database& database);
  const Study& StudyOf(const FaultTenant& tenant) const;  // as the controller knows it
  bool Drives(const FaultTenant& tenant) const;

  // The lives of controllers, and how studies come and go.
  void Start();
  Status Begin(Life& life, const std::vector<Node>& nodes);
  void Look(const std::function<void()>& look);
  void CheckRecovered(const Engine& engine);
  Result<Controller::Driven> Lodge(FaultTenant& tenant, const Study& study);
  std::vector<EventBody> DrawFirst(FaultTenant& tenant);
  void TakeInAlone(const std::vector<Node>& nodes);
  void TryToTakeIn(FaultTenant& tenant, const std::vector<Node>& nodes);
  Status TakeIn(FaultTenant& tenant, const std::vector<Node>& nodes);
  std::vector<std::string> DrawHidden(const std::vector<Node>& nodes);
  void ComeLater(FaultTenant& tenant, Duration mean);
  void Come(FaultTenant& tenant);
  Status Settle();
  Status WithPen(const std::function<Status(Ledger&)>& write);
  void LetGo();
  void Gone(FaultTenant& tenant);
  void Leave();
  void GiveUp();
  void Bury(MemoryDisk::Unsynced unsynced);
  void BuryAfterFailure();
  void StartLater();
  void After();
  Duration DrawDeadline();
  void CheckEnd(const FaultTenant& tenant);

  void CrashController();
  void CutPower();
  void FillDisk();
  void BreakDisk();
  void LoseNode();
  void NodesSeen();
  FaultTenant& AnyTenant();
  void Interfere();
  void InterfereWithLeaving(const FaultTenant& tenant, Random drawn);
  void InterfereWithCopies(FaultTenant& tenant, Random drawn);
  void InterfereWithAlone(FaultTenant& tenant);
  void InterfereOffline();
  Status WriteDown(FaultTenant& tenant, Random drawn, Ledger& ledger);
  StudyChange DrawChange(const FaultTenant& tenant, Random drawn) const;
  void BreakProgram();
  void Interrupt(FaultTenant& tenant);
  TrialId AnyTrial(const FaultTenant& tenant);
  std::string AnyPoint(const FaultTenant& tenant);
  void Ask(const FaultTenant& tenant, const wire::Ask& question, bool waits);
  void Knock();
  void Suspend();
  void Heal();
  void See(const std::string& sight) { ++sights_[sight]; }

  Options options_;
  Random random_;
  Theme theme_;
  Timeline timeline_;
  MemoryDisk disk_;
  Checker checker_;
  std::vector<std::unique_ptr<FaultTenant>> tenants_;  // by id
  std::unique_ptr<Life> life_;
  Duration clock_offset_{0};
  Duration sync_{0};                  // the longest that a commit waits before it is written
  std::uint64_t reads_to_start_ = 0;  // how many reads the last controller needed to start
  bool healed_ = false;
  bool starting_ = false;
  int failed_starts_ = 0;  // in a row
  std::map<std::string, int> sights_;
};

}  // namespace sluice
