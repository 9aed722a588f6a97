// The faults of a world, and their times.

#include <cmath>

#include "base/check.h"
#include "rig/fault_life.h"
#include "rig/fault_world.h"

namespace sluice {
namespace {

template <typename T>
T OneOf(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.Below(values.size())];
}

}  // namespace

Duration FaultWorld::Around(Duration mean) {
  const double drawn = -std::log(1 - random_.Uniform()) * static_cast<double>(mean.count());
  return Duration(static_cast<std::int64_t>(drawn) + 1);
}

void FaultWorld::Plan(Duration FaultPlan::* mean, void (FaultWorld::*what)()) {
  const Duration between = ground().faults().*mean;
  if (between.count() == 0) return;
  timeline_.After(Around(between), [this, mean, what] {
    if (healed_) return;
    (this->*what)();
    Plan(mean, what);
  });
}

void FaultWorld::PlanFaults() {
  Plan(&FaultPlan::controller_crash, &FaultWorld::CrashController);
  Plan(&FaultPlan::power_cut, &FaultWorld::CutPower);
  Plan(&FaultPlan::disk_full, &FaultWorld::FillDisk);
  Plan(&FaultPlan::disk_error, &FaultWorld::BreakDisk);
  Plan(&FaultPlan::node_loss, &FaultWorld::LoseNode);
  Plan(&FaultPlan::user, &FaultWorld::Interfere);
  Plan(&FaultPlan::stranger, &FaultWorld::Knock);
  Plan(&FaultPlan::suspend, &FaultWorld::Suspend);
  Plan(&FaultPlan::breakage, &FaultWorld::BreakProgram);
  const bool is_broken = random_.Fork("broken at first").Chance(0.3);
  if (is_broken && ground().faults().breakage.count() > 0) BreakProgram();
}

void FaultWorld::CrashController() {
  if (life_ == nullptr) return;
  const std::uint64_t how = random_.Below(3);
  if (how == 0) return disk_.DieAt(disk_.operations() + random_.Below(40));
  if (how == 1 && options_.unwinds) return life_->machine.DieAfter(random_.Below(12));
  See("killed");
  Bury(MemoryDisk::Unsynced::kKept);
  StartLater();
}

void FaultWorld::CutPower() {
  See("power cut");
  for (const auto& tenant : tenants_) {
    tenant->ground->LoseNode(0);
    (void)tenant->ground->TakeLost();  // not passed on: the controller dies too
    tenant->ground->BringBackNode(0);
  }
  if (life_ != nullptr) Bury(MemoryDisk::Unsynced::kDrawn);
  StartLater();
}

void FaultWorld::FillDisk() {
  See("disk full");
  disk_.SetCapacity(disk_.used_bytes() + random_.Below(20'000));
  timeline_.After(Around(std::chrono::seconds(5)),
                  [this] { disk_.SetCapacity(MemoryDisk::kUnlimited); });
}

void FaultWorld::BreakDisk() {
  See("disk error");
  if (random_.Chance(0.5)) return disk_.FailAt(disk_.operations() + random_.Below(20));
  // A running controller reads little: most reads are made by a controller that takes over.
  if (life_ != nullptr && random_.Chance(0.5)) {
    Bury(MemoryDisk::Unsynced::kKept);
    StartLater();
  }
  disk_.FailReadAt(disk_.reads() + random_.Below(reads_to_start_ + 1));
}

void FaultWorld::LoseNode() {
  const std::size_t index = random_.Below(ground().nodes().size());
  if (!ground().nodes()[index].up) return;
  if (random_.Chance(0.5)) {
    See("node lost");
    for (const auto& tenant : tenants_) tenant->ground->LoseNode(index);
  } else {
    See("node cut off");
    for (const auto& tenant : tenants_) tenant->ground->CutOffNode(index);
  }
  timeline_.After(Around(std::chrono::seconds(3)), [this] { NodesSeen(); });
  timeline_.After(Around(std::chrono::seconds(20)), [this, index] {
    // The controller learns that the node is gone before it comes back.
    NodesSeen();
    for (const auto& tenant : tenants_) tenant->ground->BringBackNode(index);
    NodesSeen();
  });
}

// The controller is told which nodes are up, and which workers are lost.
void FaultWorld::NodesSeen() {
  const bool drives = life_ != nullptr && !life_->lodgings.empty();
  if (drives) life_->controller->Happened(NodesChanged{ground().nodes()});
  for (const auto& tenant : tenants_) {
    const std::vector<std::string> lost = tenant->ground->TakeLost();
    if (Drives(*tenant)) life_->lodgings.at(tenant->id())->site.TellLost(lost);
  }
  if (drives) After();
}

// For a while no program can be started, or each ends before it has sent anything.
void FaultWorld::BreakProgram() {
  See("program broken");
  double FaultPlan::* const how =
      OneOf(random_, {&FaultPlan::spawn_fails, &FaultPlan::not_started, &FaultPlan::stillborn});
  FaultGround& broken = *AnyTenant().ground;
  const double before = broken.faults().*how;
  if (before == 1) return;
  broken.SetFault(how, 1);
  timeline_.After(Around(std::chrono::seconds(20)), [this, &broken, how, before] {
    if (!healed_) broken.SetFault(how, before);
  });
}

// A process connects that is no worker of this study, or not the worker that it claims to be.
void FaultWorld::Knock() {
  FaultGround& ground = *AnyTenant().ground;
  const std::vector<FaultWorker*> workers = ground.Reachable();
  wire::Hello hello;
  hello.pid = 1;
  std::string parent;
  if (!workers.empty()) {
    const FaultWorker& worker = *workers[random_.Below(workers.size())];
    hello.worker = worker.name();
    hello.pid = worker.speaker().pid;
    hello.launches = worker.Carries();
    if (hello.launches.size() > 1) hello.launches.resize(1);
    hello.study = hello.launches.empty() ? "" : ground.program().study;
    // A separate stream, so that other draws stay the same. A program that prints its results gets
    // no such child: a child that speaks the protocol would speak for the program from then on.
    const bool is_child = random_.Fork("child").Fork(checker_.events()).Chance(0.5);
    if (is_child && ground.program().speaks) parent = worker.name();
  }
  See("stranger");
  if (Random odd = random_.Fork("odd").Fork(checker_.events()); odd.Chance(0.2)) {
    hello.version = wire::kVersion;
    const wire::LaunchRef none{TrialId(1'000'000), LaunchId(1)};
    switch (odd.Below(5)) {
      case 0: hello.version = 0; break;
      case 1: hello.capacity = 0; break;
      case 2: hello.launches.resize(3, none); break;
      case 3: hello.launches = {none}; break;
      default: hello.launches.clear();
    }
    return ground.Knock(
        {hello, wire::Report{none, 1, 1, {{"loss", StudyChecker::kStrangersValue}}}}, parent);
  }
  switch (random_.Below(9)) {
    case 0: return ground.Knock({wire::Heartbeat{}}, parent);
    case 1: hello.version = wire::kVersion + 1; break;
    case 2: hello.study = "another"; break;
    case 3: ++hello.pid; break;
    case 4:
      ++hello.pid;
      hello.launches.clear();
      break;
    case 5: hello.launches = {{TrialId(1'000'000), LaunchId(1)}}; break;
    case 6:
      hello.launches.clear();
      if (!workers.empty()) hello.launches = workers.front()->Carries();
      if (hello.launches.size() > 1) hello.launches.resize(1);
      break;
    case 7: return ground.Knock({hello, wire::Ready{}}, parent);  // cannot take another trial
    default:
      hello.worker = OneOf<const char*>(
          random_, {"", "7", "7.", "seven.1", "1.one", "0.1", "1.0", "7-2", "7.2.1", "1000000.1"});
  }
  std::vector<wire::FromWorker> words = {hello};
  if (parent.empty() && !hello.launches.empty()) {
    const Work work = 1 + static_cast<Work>(random_.Fork("work").Fork(checker_.events()).Below(30));
    words.push_back(
        wire::Report{hello.launches.front(), 1, work, {{"loss", StudyChecker::kStrangersValue}}});
  }
  ground.Knock(words, parent);
}

// The controller's machine stands still for a while. Only its clock shows that.
void FaultWorld::Suspend() {
  if (life_ == nullptr) return;
  See("suspended");
  const auto duration = std::chrono::milliseconds(500 + random_.Below(60'000));
  clock_offset_ += duration;
  life_->machine.Suspend(duration);
}

void FaultWorld::Heal() {
  healed_ = true;
  disk_.SetCapacity(MemoryDisk::kUnlimited);
  disk_.DieAt(MemoryDisk::kUnlimited);
  disk_.FailAt(MemoryDisk::kUnlimited);
  disk_.FailReadAt(MemoryDisk::kUnlimited);
  if (life_ != nullptr) life_->machine.DieAfter(UINT64_MAX);
  const auto see_nodes = [&] {
    try {
      if (life_ != nullptr) NodesSeen();
    } catch (const ControllerDied&) {
      SLUICE_CHECK(false, "a healed controller does not die");
    }
  };
  see_nodes();  // the controller learns that nodes are gone before they are back
  for (const auto& tenant : tenants_) tenant->ground->Heal();
  see_nodes();
}

}  // namespace sluice
