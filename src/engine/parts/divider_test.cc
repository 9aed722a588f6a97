#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/test_shared_engine.h"
#include "policy/policy_table.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Lines(const std::string& policy, int trials, double weight) {
  return fmt::format("policy: {}\ntrials: {}\nweight: {}\nbudget: {{max: 1}}\n", policy, trials,
                     weight);
}

// The part of the first study, of what both had while both had work.
double PartOfFirst(const std::string& first, const std::string& second, double weight,
                   double seconds = 0.5, double others = 0.5, Node node = NodeOf(2 * kWhole)) {
  SharedEngine engine(std::move(node));
  const StudyId a = engine.Add(Lines(first, 100, weight), seconds);
  const StudyId b = engine.Add(Lines(second, 100, 1), others);
  const auto works = [&](StudyId id) {
    return !engine.study(id).waiting.empty() || engine.study(id).room() > 0;
  };
  while (works(a) && works(b)) engine.RunUntil(engine.now() + 0.05);
  return engine.had(a) / (engine.had(a) + engine.had(b));
}

TEST(DividerTest, AStudyHasDevicesInProportionToItsWeightUnderEveryPolicy) {
  for (const std::string policy : {"fifo", "lpt", "fluid-static", "fluid-dynamic", "confluence"}) {
    for (const std::string other : {"fifo", "confluence"}) {
      SCOPED_TRACE(policy + " beside " + other);
      const double part = PartOfFirst(policy, other, 2);
      EXPECT_GT(part, 0.62);
      EXPECT_LT(part, 0.72);
    }
  }
}

TEST(DividerTest, LongAndShortTrialsHaveTheirPartsOverTime) {
  EXPECT_NEAR(PartOfFirst("fifo", "fifo", 1, 0.5, 0.5), 0.5, 0.03);
  EXPECT_NEAR(PartOfFirst("fifo", "fifo", 1, 5, 0.5), 0.5, 0.05);
  EXPECT_NEAR(PartOfFirst("fifo", "fifo", 3, 0.5, 2), 0.75, 0.05);
  EXPECT_NEAR(PartOfFirst("fifo", "fifo", 9, 1, 1, NodeOf(10 * kWhole)), 0.9, 0.03);
}

TEST(DividerTest, GpusAreSharedUnderEveryPolicy) {
  constexpr auto kGpu = "resources: {cpus: 1, gpus: 1, memory: 100MiB}\n";
  for (const PolicyTraits& policy : Policies()) {
    if (policy.needs.deadline) continue;
    SCOPED_TRACE(policy.name);
    SharedEngine engine(NodeOf(16 * kWhole, 4));
    const StudyId a = engine.Add(kGpu + Lines(std::string(policy.name), 200, 3), 1);
    const StudyId b = engine.Add(kGpu + Lines("fifo", 200, 1), 1);
    engine.RunUntil(20);
    ASSERT_FALSE(engine.study(a).finished || engine.study(b).finished);
    EXPECT_NEAR(engine.had(a) / (engine.had(a) + engine.had(b)), 0.75, 0.06);
    EXPECT_NEAR(engine.had(a) + engine.had(b), 80, 4) << "no GPU is idle";
  }
}

// As CUDA_VISIBLE_DEVICES hides them from the command that handed the study over.
TEST(DividerTest, AStudyKeepsToTheDevicesThatItSees) {
  constexpr auto kGpu = "resources: {cpus: 1, gpus: 1, memory: 100MiB}\n";
  const auto devices = [](const Study& study) {
    std::set<std::uint32_t> held;
    for (const Trial& trial : study.trials) {
      for (const DeviceId device : trial.launch.grant.devices) held.insert(Number(device));
    }
    return held;
  };
  for (const PolicyTraits& policy : Policies()) {
    if (policy.needs.deadline) continue;
    SCOPED_TRACE(policy.name);
    SharedEngine engine(NodeOf(16 * kWhole, 4));
    const StudyId a = engine.Add(kGpu + Lines(std::string(policy.name), 30, 1), 1);
    engine.Happen(StudyOpened{a, {"gpu-0", "gpu-1", "gpu-2"}});
    engine.RunUntil(5);
    const StudyId b = engine.Add(kGpu + Lines(std::string(policy.name), 30, 1), 1);
    engine.Happen(StudyOpened{b, {"gpu-3"}});
    engine.RunUntil(12);
    const auto late = devices(engine.study(a));
    EXPECT_TRUE(late.contains(3));
    EXPECT_FALSE(devices(engine.study(b)).contains(3));
    EXPECT_GT(engine.had(a), 9) << "its device is its alone";
    EXPECT_GT(engine.had(b), 18);
  }
}

TEST(DividerTest, AllDevicesAreForTheStudyThatIsLeft) {
  SharedEngine engine(NodeOf(4 * kWhole));
  const StudyId a = engine.Add(Lines("fifo", 8, 1), 1);
  const StudyId b = engine.Add(Lines("confluence", 40, 1), 1);
  engine.RunUntil(5.5);
  EXPECT_TRUE(engine.study(a).finished);
  EXPECT_EQ(engine.running(b), 4);
  engine.RunToEnd();
  EXPECT_TRUE(engine.study(b).finished);
  EXPECT_NEAR(engine.now(), 12, 0.1) << "no core was idle";
}

TEST(DividerTest, ANewStudyGetsTheNextFreeDevices) {
  SharedEngine engine(NodeOf(2 * kWhole));
  const StudyId a = engine.Add(Lines("fifo", 100, 1), 3);
  engine.RunUntil(31);
  EXPECT_EQ(engine.running(a), 2);
  const StudyId b = engine.Add(Lines("fifo", 100, 1), 1);
  EXPECT_EQ(engine.running(b), 0) << "nothing is preempted";
  engine.RunUntil(33.1);
  EXPECT_EQ(engine.running(b), 2) << "what the first had before does not count";
}

TEST(DividerTest, AWideTrialDoesNotStarveBesideNarrowOnes) {
  SharedEngine engine(NodeOf(4 * kWhole));
  const StudyId narrow = engine.Add(Lines("fifo", 400, 1), 0.7);
  engine.RunUntil(0.3);
  const StudyId wide = engine.Add("resources: {cpus: 4}\n" + Lines("fifo", 10, 1), 1);
  engine.RunUntil(40);
  EXPECT_GT(engine.had(wide), 30);
  EXPECT_GT(engine.had(narrow), 50);
}

TEST(DividerTest, APausedStudyLeavesItsDevicesToOthersUntilItIsResumed) {
  SharedEngine engine(NodeOf(2 * kWhole));
  const StudyId a = engine.Add(Lines("fifo", 100, 1), 1);
  const StudyId b = engine.Add(Lines("fifo", 100, 1), 1);
  engine.RunUntil(2.5);
  engine.Happen(StudyPauseAsked{a});
  EXPECT_EQ(engine.running(a), 0);
  EXPECT_EQ(engine.running(b), 2);
  engine.RunUntil(5.5);
  EXPECT_EQ(engine.running(a), 0);
  engine.Happen(StudyResumed{a, {}, {}});
  const double before = engine.had(a);
  engine.RunUntil(25.5);
  EXPECT_NEAR(engine.had(a) - before, 20, 2);
}

TEST(DividerTest, AStudyThatIsClosedAndOpenedGoesOnWhereItWas) {
  SharedEngine engine(NodeOf(2 * kWhole));
  const StudyId a = engine.Add(Lines("confluence", 20, 1), 1);
  const StudyId b = engine.Add(Lines("confluence", 20, 1), 1);
  engine.RunUntil(3.5);
  engine.Happen(StudyPauseAsked{a});
  const std::size_t made = engine.study(a).trials.size();
  auto alone = engine.Close(a);
  EXPECT_EQ(engine.engine().study(a), nullptr);
  EXPECT_EQ(alone->study(a)->trials.size(), made);
  engine.RunUntil(6.5);
  EXPECT_EQ(engine.running(b), 2);
  engine.Open(a, std::move(alone));
  EXPECT_EQ(engine.running(a), 0) << "it is still paused";
  engine.Happen(StudyResumed{a, {}, {}});
  engine.RunToEnd();
  EXPECT_TRUE(engine.study(a).finished);
  EXPECT_EQ(engine.study(a).count(TrialState::kComplete), 20);
  EXPECT_EQ(engine.study(b).count(TrialState::kComplete), 20);
}

// A policy that could use all devices plans on those of its study only.
TEST(DividerTest, AnElasticTrialTakesWhatItsStudyHas) {
  for (const std::string policy : {"fluid-dynamic", "fluid-static", "confluence"}) {
    SCOPED_TRACE(policy);
    SharedEngine engine(NodeOf(16 * kWhole, 4));
    const StudyId narrow = engine.Add("resources: {cpus: 1, gpus: 1}\n" + Lines("fifo", 400, 1), 1);
    engine.RunUntil(0.5);
    const StudyId wide =
        engine.Add("resources: {cpus: 1, gpus: [1, 4]}\n" + Lines(policy, 3, 1), 2);
    engine.RunUntil(10);
    EXPECT_TRUE(engine.study(wide).finished);
    EXPECT_GT(engine.had(narrow), 25);
  }
}

TEST(DividerTest, AStudyOfOneTrialAtATimeIsNotHeldUpByAnothersDevice) {
  for (const PolicyTraits& policy : Policies()) {
    if (policy.needs.deadline) continue;
    SCOPED_TRACE(policy.name);
    const std::string gpu = "resources: {cpus: 1, gpus: 1, memory: 100MiB}\n";
    SharedEngine engine(NodeOf(16 * kWhole, 3));
    const StudyId slow = engine.Add(gpu + "parallelism: 1\n" + Lines("fifo", 2, 1), 1000);
    const StudyId other = engine.Add(gpu + Lines("fifo", 900, 1), 1);
    const StudyId one =
        engine.Add(gpu + "parallelism: 1\n" + Lines(std::string(policy.name), 5, 1), 1);
    engine.RunUntil(30);
    EXPECT_TRUE(engine.study(one).finished);
    EXPECT_EQ(engine.running(slow), 1);
    EXPECT_EQ(engine.running(other), 2);
  }
}

TEST(DividerTest, WhatWasKeptForAStudyThatPausesGoesToOthersAtOnce) {
  SharedEngine engine(NodeOf(4 * kWhole, 2));
  const std::string one = "resources: {cpus: 1, gpus: 1}\n";
  const StudyId busy = engine.Add(one + Lines("fifo", 9, 1), 100);
  const StudyId wide = engine.Add("resources: {cpus: 1, gpus: 2}\n" + Lines("fifo", 9, 1), 1);
  engine.RunUntil(10);
  engine.Happen(TrialStopAsked{{busy, TrialId(1)}});
  EXPECT_EQ(engine.running(busy), 1) << "the device is kept";
  engine.Happen(StudyPauseAsked{wide});
  EXPECT_EQ(engine.running(busy), 2);
}

TEST(DividerTest, TrialsThatAreReadyTogetherStartByTheirStudiesWeights) {
  for (const std::string resources : {"cpus: 1", "cpus: 1, gpus: 0.5"}) {
    SCOPED_TRACE(resources);
    SharedEngine engine(NodeOf(0));
    std::vector<StudyId> ids;
    for (const double weight : {1.0, 1.0, 2.0}) {
      ids.push_back(engine.Add(
          "sampler: random\nresources: {" + resources + "}\n" + Lines("fifo", 8, weight), 10));
      engine.Happen(PointsEnqueued{ids.back(), std::vector<Point>(8, Point{0.5})});
    }
    engine.Happen(NodesChanged{{NodeOf(8 * kWhole, 4)}});
    EXPECT_EQ(engine.running(ids[0]), 2);
    EXPECT_EQ(engine.running(ids[1]), 2);
    EXPECT_EQ(engine.running(ids[2]), 4);
  }
}

TEST(DividerTest, AStudyFromAClockThatWasAheadMovesNobodysTime) {
  SharedEngine engine(NodeOf(kWhole));
  const StudyId a = engine.Add("timeouts: {report: 60s}\n" + Lines("fifo", 2, 1), 50);
  engine.RunUntil(5);
  auto alone = NewEngine();
  (void)alone->Apply({At(7200), StudyCreated{.study = StudyId(9),
                                             .source = "",
                                             .folder = "/",
                                             .seed = 1,
                                             .spec = SpecOf("trials: 2\n", "later")}});
  engine.engine().Open(std::move(alone));
  engine.Happen(StudyOpened{StudyId(9)});
  EXPECT_EQ(engine.engine().now(), At(5));
  engine.RunUntil(49);
  EXPECT_EQ(engine.running(a), 1) << "it did not run out of time";
}

TEST(DividerTest, IdleTimeIsNoCredit) {
  SharedEngine engine(NodeOf(4 * kWhole));
  const StudyId a = engine.Add("parallelism: 1\n" + Lines("fifo", 2, 1), 40);
  const StudyId b = engine.Add(Lines("fifo", 4000, 1), 1);
  engine.RunUntil(60);
  EXPECT_NEAR(engine.had(b), 180, 10);
  // From now on the first study could use all cores.
  engine.Happen(StudyPauseAsked{a});
  engine.Happen(StudyResumed{a, 100, {}});
  const double before = engine.had(b);
  engine.RunUntil(100);
  EXPECT_GT(engine.had(b) - before, 70) << "the second still has half";
}

TEST(DividerTest, LargeMemoryDoesNotStarveBesideSmall) {
  SharedEngine engine(NodeOf(16 * kWhole, 1));  // a GPU of 1 GiB
  const StudyId small =
      engine.Add("resources: {cpus: 1, gpus: 0.1, memory: 300MiB}\n" + Lines("fifo", 900, 1), 1);
  engine.RunUntil(0.3);
  const StudyId large =
      engine.Add("resources: {cpus: 1, gpus: 0.3, memory: 700MiB}\n" + Lines("fifo", 5, 1), 1);
  engine.RunUntil(40);
  EXPECT_TRUE(engine.study(large).finished);
  EXPECT_FALSE(engine.study(small).finished);
}

TEST(DividerTest, LaunchesOfAStudyThatComesAreTakenOver) {
  SharedEngine engine(NodeOf(2 * kWhole, 2));
  const StudyId a = engine.Add(Lines("fifo", 9, 1), 1);
  // The other ran on a machine with more devices, and on a node that is not there.
  const StudyCreated created{.study = StudyId(9),
                             .source = "",
                             .folder = "/",
                             .seed = 1,
                             .spec = SpecOf("resources: {cpus: 1, gpus: 1}\ntrials: 8\n" +
                                                std::string("timeouts: {report: 10s}\n"),
                                            "old")};
  auto alone = NewEngine();
  (void)alone->Apply({At(0), created});
  (void)alone->Apply({At(0), ControllerStarted{{NodeOf(4 * kWhole, 3), NodeOf(4 * kWhole, 1)}}});
  for (std::uint64_t i = 0; i < 4; ++i)
    (void)alone->Apply({At(0), Proposed{StudyId(9), i, Point{0.5}}});
  ASSERT_EQ(alone->running(), 4);
  engine.RunUntil(0.5);
  engine.engine().Open(std::move(alone));
  (void)engine.engine().Apply({At(100), StudyOpened{StudyId(9)}});
  const Study& old = engine.study(StudyId(9));
  EXPECT_EQ(old.count(TrialState::kRunning), 3) << "one was on the node that is not there";
  (void)engine.engine().Apply({At(101), Woken{}});
  EXPECT_EQ(old.count(TrialState::kRunning), 3) << "they had no time to report yet";
  EXPECT_EQ(engine.running(a), 2) << "nothing was taken away";
}

TEST(DividerTest, NoTrialIsStartedAfterTheDeadlineAlthoughItsTimerIsLate) {
  SharedEngine engine(NodeOf(kWhole));
  engine.DelayWakes(60);
  const StudyId a = engine.Add(Lines("fifo", 50, 1) + "deadline: 10s\n", 3);
  engine.Add(Lines("fifo", 50, 1), 2);
  engine.RunUntil(30);
  EXPECT_EQ(engine.study(a).ending, Finish::kDeadline);
  for (const Trial& trial : engine.study(a).trials)
    EXPECT_LT(trial.launch.started, engine.study(a).deadline) << Number(trial.id);
}

TEST(DividerTest, TheStateOfSeveralStudiesIsSavedAndLoaded) {
  SharedEngine engine(NodeOf(3 * kWhole));
  std::vector<StudyCreated> specs;
  for (const std::string policy : {"fifo", "confluence", "fluid-dynamic"}) {
    const StudyId id = engine.Add(Lines(policy, 30, 1), 1);
    specs.push_back({.study = id,
                     .source = "",
                     .folder = "/",
                     .seed = Number(id),
                     .spec = engine.study(id).spec});
  }
  engine.RunUntil(4.2);
  const std::string saved = engine.engine().Save();
  EXPECT_THAT(Engine::StudiesIn(saved), ElementsAre(StudyId(1), StudyId(2), StudyId(3)));
  EXPECT_THAT(Engine::StudiesIn("nothing"), IsEmpty());
  auto loaded = NewEngine();
  ASSERT_TRUE(loaded->Load(saved, specs));
  EXPECT_EQ(loaded->Digest(), engine.engine().Digest());
  // Both go on in the same way.
  for (const Event& event : {Event{At(9), StudyPauseAsked{StudyId(2)}}, Event{At(9), Woken{}}}) {
    EXPECT_EQ(Describe(loaded->Apply(event)), Describe(engine.engine().Apply(event)));
  }
  EXPECT_EQ(loaded->Digest(), engine.engine().Digest());
  EXPECT_FALSE(NewEngine()->Load(saved, {specs[0], specs[2]}));
}

}  // namespace
}  // namespace sluice
