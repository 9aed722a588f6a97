#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "rig/fault_world.h"
#include "search/sampler.h"

namespace sluice {

// Everything that dies with a controller.
struct FaultWorld::Life {
  // Commits to the simulated disk after a delay. The controller is notified after a further delay.
  class DiskCommitter final : public Committer {
   public:
    DiskCommitter(FaultWorld& world, Life& life) : world_(world), life_(life) {}
    bool busy() const override { return busy_; }
    void Submit(Batch batch) override {
      busy_ = true;
      batch_ = std::move(batch);
      life_.Later(world_.sync_, [this] { Write(); });
    }
    Batch TakeInFlight() { return std::move(batch_); }

   private:
    void Write() {
      Status written = life_.ledger->Commit(batch_);
      if (world_.disk_.dead()) throw ControllerDied{};
      if (written) world_.checker_.Durable(std::exchange(batch_, {}));
      life_.Later(Duration(100), [this, written = std::move(written)] {
        busy_ = false;
        life_.controller->Committed(written);
        world_.After();
      });
    }
    FaultWorld& world_;
    Life& life_;
    bool busy_ = false;
    Batch batch_;
  };

  // The real sampler, which answers after a delay.
  class SlowSearcher final : public Searcher {
   public:
    SlowSearcher(FaultWorld& world, Life& life) : world_(world), life_(life) {}
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
      life_.InTurn(last_, kAnswersWithin, [this, answer = std::move(answer)] {
        life_.controller->Answered(kStudy, answer);
        world_.After();
      });
    }
    FaultWorld& world_;
    Life& life_;
    Time last_{};
  };

  explicit Life(FaultWorld& world)
      : timeline(world.ground_->timeline()),
        random(world.random_.Fork(world.random_.Next())),
        site(*world.ground_, world.checker_, world.clock_offset_),
        committer(world, *this),
        searcher(world, *this) {}
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
  FaultSite site;
  DiskCommitter committer;
  SlowSearcher searcher;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<Engine> alone;  // of the study, once the controller has let go of it
  bool interrupted = false;
};

}  // namespace sluice
