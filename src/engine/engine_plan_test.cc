// How the engine carries out plans: which trials a policy is shown, which stay, and which yield.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A policy that plans as the test's script says.
class ScriptedPolicy : public Policy {
 public:
  using Script = std::function<Plan(const Cluster&, const WorkView&)>;
  explicit ScriptedPolicy(Script script) : script_(std::move(script)) {}
  Plan Propose(const Cluster& cluster, const WorkView& work, Time) override {
    return script_(cluster, work);
  }

 private:
  Script script_;
};

class EnginePlanTest : public ::testing::Test {
 protected:
  EnginePlanTest()
      : engine_(
            std::make_unique<ScriptedPolicy>([this](const Cluster& cluster, const WorkView& work) {
              shown_.clear();
              for (const WorkItem& item : work.items)
                shown_.push_back((item.running ? "running " : "waiting ") +
                                 std::to_string(Number(item.trial.trial)));
              return plan_(cluster, work);
            })) {
    (void)engine_.Apply({At(0), StudyCreated{kStudy, "", "/", 1, SpecOf("trials: 4\n")}});
    (void)engine_.Apply({At(0), ControllerStarted{{NodeOf(4 * kWhole)}}});
  }

  std::vector<std::string> Propose(std::uint64_t counter) {
    return Describe(engine_.Apply({At(1), Proposed{kStudy, counter, Point{0.5}}}));
  }
  // A launch can be moved once it has reported.
  void Report(std::uint32_t trial, Work work = 1) {
    const TrialKey key{kStudy, TrialId(trial)};
    const Trial& known = *engine_.trial(key);
    (void)engine_.Apply({At(1), Reported{.trial = key,
                                         .launch = known.launch.id,
                                         .position = {.seq = known.launch.seq + 1, .offset = 0},
                                         .work = work,
                                         .metrics = {{"loss", 0.5}}}});
  }
  std::vector<std::string> Wake() { return Describe(engine_.Apply({At(2), Woken{}})); }

  // Places each running trial where it runs, and each waiting trial where it fits. Also wants room
  // for one trial that the study does not have yet.
  static Plan PlaceAll(Cluster free, const WorkView& work) {
    Plan plan;
    for (const WorkItem& item : work.items) {
      Grant grant = item.running ? *item.grant : FirstFit(free, item.demand);
      if (!item.running) free.Take(grant);
      plan.placements.push_back({item.trial, std::move(grant)});
    }
    plan.wanted_room.push_back({kStudy, 1});
    return plan;
  }

  std::function<Plan(const Cluster&, const WorkView&)> plan_ = PlaceAll;
  std::vector<std::string> shown_;
  Engine engine_;
};

TEST_F(EnginePlanTest, WhoIsPlacedWhereItRunsStays) {
  EXPECT_THAT(Propose(0), ElementsAre("start 1.1 0..end", "propose 1"));
  EXPECT_THAT(Propose(1), ElementsAre("start 2.1 0..end", "propose 2"));
  EXPECT_THAT(shown_, ElementsAre("running 1", "waiting 2"));
  EXPECT_THAT(Wake(), IsEmpty());
  EXPECT_THAT(shown_, ElementsAre("running 1", "running 2"));
}

TEST_F(EnginePlanTest, WhoIsNotPlacedYieldsOnce) {
  Propose(0);
  Propose(1);
  Report(1);
  Report(2);
  plan_ = [](const Cluster&, const WorkView& work) {
    Plan plan;
    plan.placements.push_back({work.items[1].trial, *work.items[1].grant});
    return plan;
  };
  EXPECT_THAT(Wake(), ElementsAre("stop 1.1 yield"));
  EXPECT_THAT(Wake(), IsEmpty());
}

TEST_F(EnginePlanTest, APlanThatKeepsWhatRunsNeedNotPlaceIt) {
  Propose(0);
  Propose(1);
  Report(1);
  Report(2);
  plan_ = [](const Cluster&, const WorkView&) {
    Plan plan;
    plan.keeps_running = true;
    return plan;
  };
  EXPECT_THAT(Wake(), IsEmpty());
  plan_ = [](const Cluster&, const WorkView&) { return Plan{}; };
  EXPECT_THAT(Wake(), ElementsAre("stop 1.1 yield", "stop 2.1 yield"));
}

TEST_F(EnginePlanTest, WhoIsGivenUpStopsForGood) {
  Propose(0);
  Propose(1);
  plan_ = [](const Cluster& cluster, const WorkView& work) {
    Plan plan = PlaceAll(cluster, work);
    plan.wanted_room.clear();
    plan.given_up.push_back({kStudy, TrialId(1)});
    return plan;
  };
  EXPECT_THAT(Wake(), IsEmpty()) << "it has not reported yet";
  plan_ = PlaceAll;
  Report(1);
  plan_ = [](const Cluster&, const WorkView&) {
    Plan plan;
    plan.given_up.push_back({kStudy, TrialId(1)});
    return plan;
  };
  EXPECT_THAT(Wake(), ElementsAre("stop 1.1 stopped"));
  EXPECT_THAT(Wake(), IsEmpty());
  (void)engine_.Apply({At(3), LaunchEnded{.trial = {kStudy, TrialId(1)},
                                          .launch = LaunchId(1),
                                          .position = {.seq = 2, .offset = 0},
                                          .ending = Ending::kDone,
                                          .reason = {}}});
  const Trial& trial = *engine_.trial({kStudy, TrialId(1)});
  EXPECT_EQ(trial.state, TrialState::kStopped);
  EXPECT_EQ(trial.note, "given up: others are expected to be better");
}

TEST_F(EnginePlanTest, NoTrialYieldsBeforeItHasReportedSomethingNew) {
  Propose(0);
  plan_ = [](const Cluster&, const WorkView&) { return Plan{}; };
  EXPECT_THAT(Wake(), IsEmpty());
  // The trial is heard, but has reported no work from which it could go on.
  (void)engine_.Apply({At(2), LaunchHeard{.trial = {kStudy, TrialId(1)},
                                          .launch = LaunchId(1),
                                          .position = {.seq = 1, .offset = 0}}});
  EXPECT_THAT(Wake(), IsEmpty());
  plan_ = [](const Cluster&, const WorkView&) {
    Plan plan;
    plan.keeps_running = true;
    return plan;
  };
  Report(1);
  plan_ = [](const Cluster&, const WorkView&) { return Plan{}; };
  EXPECT_THAT(Wake(), ElementsAre("stop 1.1 yield"));
}

TEST_F(EnginePlanTest, APolicyIsAskedAgainOnlyAtALaterTime) {
  const auto asks = [this](double seconds) {
    plan_ = [=](const Cluster& cluster, const WorkView& work) {
      Plan plan = PlaceAll(cluster, work);
      plan.ask_again = At(seconds);
      return plan;
    };
  };
  Propose(0);
  asks(1);
  EXPECT_THAT(Wake(), IsEmpty());
  asks(2);
  EXPECT_THAT(Wake(), IsEmpty());
  asks(3);
  EXPECT_THAT(Wake(), ElementsAre("wake 3"));
}

TEST_F(EnginePlanTest, WhoIsPlacedElsewhereLeavesAndIsPlacedAnew) {
  Propose(0);
  Report(1);
  plan_ = [](const Cluster&, const WorkView& work) {
    Plan plan;
    for (const WorkItem& item : work.items) {
      Grant wide{.node = NodeId(1), .cpus = 3 * kWhole, .gpu_share = kWhole, .devices = {}};
      plan.placements.push_back({item.trial, std::move(wide)});
    }
    return plan;
  };
  EXPECT_THAT(Wake(), ElementsAre("stop 1.1 yield"));
  EXPECT_THAT(Wake(), IsEmpty());  // the trial is leaving already
  EXPECT_THAT(Describe(engine_.Apply({At(3), LaunchEnded{.trial = {kStudy, TrialId(1)},
                                                         .launch = LaunchId(1),
                                                         .position = {},
                                                         .ending = Ending::kPaused,
                                                         .reason = "",
                                                         .checkpoint_bytes = 1}})),
              ElementsAre("start 1.2 1..end"));
  EXPECT_EQ(engine_.trial({kStudy, TrialId(1)})->launch.grant.cpus, 3 * kWhole);
  EXPECT_THAT(Wake(), IsEmpty());
}

TEST_F(EnginePlanTest, AWidthIsSettledForOneTarget) {
  Propose(0);
  Milli shown = -1;
  plan_ = [&](const Cluster& cluster, const WorkView& work) {
    Plan plan = PlaceAll(cluster, work);
    shown = work.items[0].width;
    plan.widths.push_back({work.items[0].trial, 2 * kWhole});
    return plan;
  };
  Wake();
  EXPECT_EQ(shown, 0);
  Wake();
  EXPECT_EQ(shown, 2 * kWhole);
  Engine again(std::make_unique<ScriptedPolicy>(plan_));
  ASSERT_TRUE(
      again.Load(engine_.Save(), {StudyCreated{kStudy, "", "/", 1, SpecOf("trials: 4\n")}}));
  EXPECT_EQ(again.Digest(), engine_.Digest());
}

}  // namespace
}  // namespace sluice
