#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/time.h"
#include "control/controller.h"
#include "engine/read/study_change.h"
#include "rig/checker.h"
#include "rig/fault_ground.h"
#include "rig/fault_site.h"
#include "rig/memory_disk.h"

namespace sluice {

// A study in a world with faults: the production controller, ledger, engine, sampler and protocol,
// on simulated machines in virtual time, all drawn from one seed. Faults occur during the first
// `events` events. Then the world heals: no more faults occur, and the study must come to its end.
class FaultWorld {
 public:
  struct Options {
    std::uint64_t seed = 0;
    std::uint64_t events = 5000;  // before it heals
    bool bundles = false;         // every study has a program that trains several trials at once
    // Controllers also die in the middle of a call, by an exception that unwinds it.
    bool unwinds = true;
  };
  struct Outcome {
    std::string problem;  // the first; empty if all went well
    std::string state;    // of the study at the end, for people
    std::uint64_t events = 0;
    std::uint64_t digest = 0;  // of the engine at the end
    Time end{};
    std::map<std::string, int> sights;  // what was seen to happen, and how often
  };

  explicit FaultWorld(const Options& options);
  ~FaultWorld();

  Outcome Run();

 private:
  static constexpr StudyId kStudy{1};
  static constexpr const char* kStore = "/sim.db";

  struct Life;  // of a controller

  std::string DescribeState() const;
  void Step();
  void PlanFaults();
  void Plan(Duration FaultPlan::* mean, void (FaultWorld::*what)());
  Duration Around(Duration mean);

  Status CreateStudy();
  void CreateStudyAgainAndAgain();
  std::vector<Point> DrawPoints(std::size_t count);
  void CheckEnding(const LaunchEnded& ended);
  Status DamageSnapshot(Database& database);
  void Start();
  const Engine& engine() const;  // that the study is in
  const Study& study() const;    // as the controller knows it
  Status Open(Life& life, const std::vector<Node>& nodes, std::vector<EventBody> first);
  void Bury(MemoryDisk::Unsynced unsynced);
  void StartLater();
  void After();
  void EndLife();
  Duration DrawDeadline();
  void CheckEnd();

  void CrashController();
  void CutPower();
  void FillDisk();
  void BreakDisk();
  void LoseNode();
  void NodesSeen();
  void Interfere();
  void InterfereWithLeaving(Random drawn);
  void InterfereWithCopies(Random drawn);
  void InterfereOffline();
  Status WriteDown(Random drawn, Batch& batch);
  StudyChange DrawChange(Random drawn) const;
  void BreakProgram();
  void Interrupt();
  TrialId AnyTrial();
  std::string AnyPoint();
  void Knock();
  void Suspend();
  void Heal();
  void See(const std::string& sight) { ++sights_[sight]; }

  Options options_;
  Random random_;
  Theme theme_;
  StudyCreated created_;
  MemoryDisk disk_;
  std::unique_ptr<FaultGround> ground_;
  Checker checker_;
  std::unique_ptr<Life> life_;
  Duration clock_offset_{0};
  Duration sync_{0};                  // the longest that a commit waits before it is written
  bool truthful_ = true;              // every worker reports what is true, and its objective
  std::uint64_t reads_to_start_ = 0;  // how many reads the last controller needed to start
  bool healed_ = false;
  bool starting_ = false;
  int failed_starts_ = 0;  // in a row
  bool finished_ = false;
  std::optional<int> more_trials_;  // for the next controller
  std::optional<Time> new_deadline_;
  bool exhausted_ = false;  // the sampler has no more points: only enqueued ones are left
  std::map<std::string, int> sights_;
};

}  // namespace sluice
