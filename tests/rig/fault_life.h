#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "rig/fault_machine.h"
#include "rig/fault_site.h"
#include "rig/fault_world.h"
#include "search/sampler.h"

namespace sluice {

// Everything that dies with a controller.
struct FaultWorld::Life {
  // Commits to the simulated disk after a delay. The controller is notified after a further delay.
  class DiskCommitter final : public Committer {
   public:
    DiskCommitter(FaultWorld& world, Life& life) : world_(world), life_(life) {}
    bool busy() const override { return next_ != Next::kNothing; }
    void Submit(Batch batch) override {
      next_ = Next::kWrite;
      batch_ = std::move(batch);
      Plan(world_.sync_);
    }
    Batch TakeInFlight() { return std::move(batch_); }
    // Waits until the batch is written.
    void Wait() {
      if (next_ == Next::kWrite) Write();
      Tell();
    }

   private:
    enum class Next { kNothing, kWrite, kTell };

    void Plan(Duration at_most) {
      life_.Later(at_most, [this, turn = ++turn_] {
        if (turn != turn_) return;  // somebody waited for it
        if (next_ == Next::kTell) {
          Tell();
          return world_.After();
        }
        Write();
        Plan(Duration(100));
      });
    }
    void Write() {
      next_ = Next::kTell;
      written_ = life_.ledger->Commit(batch_);
      if (world_.disk_.dead()) throw ControllerDied{};
      if (written_) world_.checker_.Durable(std::exchange(batch_, {}));
    }
    void Tell() {
      next_ = Next::kNothing;
      ++turn_;
      life_.controller->Committed(written_);
    }

    FaultWorld& world_;
    Life& life_;
    Next next_ = Next::kNothing;
    int turn_ = 0;
    Status written_;
    Batch batch_;
  };

  // The real sampler, which answers after a delay.
  class SlowSearcher final : public Searcher {
   public:
    SlowSearcher(FaultWorld& world, Life& life, const StudyCreated& study)
        : world_(world), life_(life), study_(study.study) {}
    void Observe(Observation observation) override { sampler->Observe(observation); }
    void Ask(std::uint64_t counter) override {
      Answer({.counter = counter, .point = sampler->Propose(counter), .fork = {}});
    }
    void AskFork(TrialId fork, std::function<Point()> explore) override {
      Answer({.counter = 0, .point = explore(), .fork = fork});
    }
    std::unique_ptr<Sampler> sampler;

   private:
    static constexpr Duration kAnswersWithin = std::chrono::milliseconds(50);
    void Answer(SearchAnswer answer) {
      const auto answers = [this, here = std::weak_ptr(here_), answer = std::move(answer)] {
        if (here.expired()) return;  // the study was let go
        life_.controller->Answered(study_, answer);
        world_.After();
      };
      life_.InTurn(last_, kAnswersWithin, answers);
    }
    FaultWorld& world_;
    Life& life_;
    StudyId study_;
    Time last_{};
    std::shared_ptr<int> here_ = std::make_shared<int>(0);
  };

  // What the controller has for a study that it drives.
  struct Lodging {
    Lodging(FaultWorld& world, Life& life, const FaultTenant& tenant)
        : site(tenant.id(), *tenant.ground, *tenant.checker, life.machine),
          searcher(world, life, tenant.created) {}
    FaultSite site;
    SlowSearcher searcher;
  };

  explicit Life(FaultWorld& world)
      : timeline(world.timeline_),
        random(world.random_.Fork(world.random_.Next())),
        machine(world.timeline_, world.clock_offset_),
        committer(world, *this) {
    machine.SetAfter([&world] { world.After(); });
  }
  ~Life() {
    for (const Timeline::Id plan : plans) timeline.Cancel(plan);
  }

  void Later(Duration at_most, std::function<void()> what) {
    Time last{};
    InTurn(last, at_most, std::move(what));
  }
  // Plans a call of `what` within `at_most` from now, but not before the time `last`. Sets `last`
  // to the time of the call.
  void InTurn(Time& last, Duration at_most, std::function<void()> what) {
    const auto delay =
        static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(at_most.count()) + 1));
    last = std::max(last, timeline.now() + Duration(delay));
    const auto id = std::make_shared<Timeline::Id>(0);
    *id = timeline.At(last, [this, id, what = std::move(what)] {
      plans.erase(*id);
      what();
    });
    plans.insert(*id);
  }

  Timeline& timeline;
  Random random;
  std::set<Timeline::Id> plans;
  std::unique_ptr<Ledger> ledger;
  FaultMachine machine;
  DiskCommitter committer;
  std::map<StudyId, std::unique_ptr<Lodging>> lodgings;
  std::unique_ptr<Controller> controller;  // its workforces refer to the sites of the lodgings
  bool drains = false;                     // it is to end
  std::set<StudyId> interrupted;           // studies that a user interrupted
};

}  // namespace sluice
