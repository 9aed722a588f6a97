// Launches that share a process: the process's capacity, its end, and how one launch affects the
// others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kSharedProcess =
    "policy: hydro\nresources: {cpus: 2}\nfuse: 4\nbudget: {max: 9}\nretries: 0\n";

// A machine with room for one bundle, and the study's first trials in it.
class SharedProcess : public TestEngine {
 public:
  explicit SharedProcess(int trials, const std::string& more = "")
      : TestEngine(kSharedProcess + more + fmt::format("trials: {}\n", trials)) {
    Wake();
    for (int counter = 0; counter < trials; ++counter)
      Propose(static_cast<std::uint64_t>(counter), 0.1 * counter);
  }
  Lines Tell(int trial, int capacity, bool several_shapes = false) {
    return Happen(CapacityTold{Key(trial), Trial(trial).launch.id, capacity, several_shapes});
  }
  Lines Release(int trial) {
    return Happen(LaunchEnded{.trial = Key(trial),
                              .launch = Trial(trial).launch.id,
                              .position = Next(trial),
                              .ending = Ending::kReleased,
                              .reason = "handed back"});
  }
  BundleId BundleOf(int trial) const { return Trial(trial).launch.grant.bundle; }
  std::set<int> Running() const {
    std::set<int> running;
    for (const TrialId id : Study().running) running.insert(static_cast<int>(Number(id)));
    return running;
  }
};

TEST(EngineProcessTest, TrialsOfOneShapeShareAProcess) {
  SharedProcess t(6);
  EXPECT_THAT(t.Running(), UnorderedElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(IsSet(t.BundleOf(1)));
  for (const int trial : {2, 3, 4}) EXPECT_EQ(t.BundleOf(trial), t.BundleOf(1));
  t.Tell(1, 4);
  EXPECT_THAT(t.Report(2, 9, 1), ElementsAre("stop 2.1 complete"));
  EXPECT_THAT(t.End(2), ElementsAre("propose 4")) << "another can join where one has left";
  EXPECT_THAT(t.Propose(4, 0.4), ElementsAre("start 5.1 0..9"));
  EXPECT_EQ(t.BundleOf(5), t.BundleOf(1));
}

TEST(EngineProcessTest, NoMoreJoinThanTheProcessTakes) {
  SharedProcess t(6);
  t.Tell(1, 3);
  EXPECT_EQ(t.Trial(4).launch.capacity, 3);
  EXPECT_EQ(t.Study().capacity, 3);
  EXPECT_THAT(t.Happen(LaunchEnded{.trial = t.Key(4),
                                   .launch = t.Trial(4).launch.id,
                                   .position = {},
                                   .ending = Ending::kReleased,
                                   .reason = ""}),
              IsEmpty())
      << "it was turned away, and there is no room for it elsewhere";
  EXPECT_EQ(t.State(4), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(4).failures, 0U);
  t.Report(1, 9, 1);
  EXPECT_THAT(t.End(1), Contains("start 4.2 0..9"));
}

TEST(EngineProcessTest, ShapesAreMixedOnlyIfAllProcessesTakeSeveral) {
  SharedProcess t(2);
  t.Tell(1, 4, /*several_shapes=*/true);
  EXPECT_TRUE(t.Study().several_shapes);
  t.Tell(1, 4, /*several_shapes=*/false);
  EXPECT_FALSE(t.Study().several_shapes);
  t.Tell(1, 4, /*several_shapes=*/true);
  EXPECT_FALSE(t.Study().several_shapes) << "another process of the study takes one shape only";
}

TEST(EngineProcessTest, WhatAProcessHandsBackIsPlacedElsewhereAndHasNotFailed) {
  SharedProcess t(6);
  t.Tell(1, 4);
  t.Report(3, 2, 1);
  EXPECT_THAT(t.Release(3), IsEmpty()) << "the process has room for three from now on";
  EXPECT_EQ(t.State(3), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(3).failures, 0U);
  EXPECT_EQ(t.Trial(1).launch.capacity, 3);
  EXPECT_THAT(t.Tell(1, 4), ElementsAre("start 3.2 2..9")) << "it has room again";
}

TEST(EngineProcessTest, ATrialThatIsHandedBackThoughItIsAloneHasFailed) {
  SharedProcess t(1);
  t.Release(1);
  EXPECT_EQ(t.State(1), TrialState::kFailed);
  EXPECT_THAT(t.Trial(1).note, HasSubstr("handed it back"));
}

TEST(EngineProcessTest, AProcessThatDiesFailsNoTrialAndTheThirdTimeTellsWhichItWas) {
  SharedProcess t(3);
  for (const int trial : {1, 2, 3}) t.End(trial, Ending::kBundleLost, "killed by signal 9");
  EXPECT_THAT(t.Running(), UnorderedElementsAre(1, 2, 3));
  EXPECT_EQ(t.BundleOf(1), t.BundleOf(2));
  for (const int trial : {1, 2, 3}) {
    EXPECT_EQ(t.Trial(trial).failures, 0U);
    EXPECT_EQ(t.Trial(trial).lost_bundles, 1U);
  }
  for (const int trial : {1, 2, 3}) t.End(trial, Ending::kBundleLost, "killed by signal 9");
  EXPECT_THAT(t.Running().size(), 1U) << "each runs alone now, and there is room for one";
  const int first = *t.Running().begin();
  EXPECT_FALSE(IsSet(t.BundleOf(first)));
  t.End(first, Ending::kFailed, "killed by signal 9");
  EXPECT_EQ(t.State(first), TrialState::kFailed);
  const int second = *t.Running().begin();
  EXPECT_FALSE(IsSet(t.BundleOf(second)));
  t.Report(second, 3, 1);
  t.End(second, Ending::kPaused);
  EXPECT_EQ(t.Trial(second).lost_bundles, 0U) << "it left in order, so it is not suspected";
}

TEST(EngineProcessTest, AMemberThatHangsHasTheOthersSaveAndLeave) {
  SharedProcess t(3);
  for (const int trial : {1, 2, 3}) t.Report(trial, 1, 1);
  EXPECT_THAT(t.Happen(LaunchHung{t.Key(2), t.Trial(2).launch.id}),
              ElementsAre("stop 1.1 paused", "stop 3.1 paused"));
  EXPECT_EQ(t.End(1, Ending::kPaused), TestEngine::Lines{}) << "nothing joins that process";
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  t.End(3, Ending::kBundleLost);
  EXPECT_EQ(t.Trial(3).lost_bundles, 0U) << "it was asked to leave because of another";
}

TEST(EngineProcessTest, ATimeoutOfOneDoesNotEndTheOthers) {
  SharedProcess t(2, "timeouts: {report: 10s}\n");
  t.now = 8;
  t.Report(1, 1, 1);
  t.now = 10;
  EXPECT_THAT(t.Wake(), AllOf(Contains("stop 2.1 timeout"), Contains("stop 1.1 paused")));
  t.End(1, Ending::kPaused);
  t.End(2, Ending::kFailed, "killed");
  EXPECT_EQ(t.State(2), TrialState::kFailed);
  EXPECT_EQ(t.Trial(1).failures, 0U);
}

TEST(EngineProcessTest, ASilentProcessOfSeveralFailsNone) {
  SharedProcess t(2);
  EXPECT_THAT(t.Expire(1), ElementsAre("stop 1.1 lease"));
  EXPECT_THAT(t.Expire(2), ElementsAre("stop 2.1 lease"));
  t.End(1, Ending::kBundleLost);
  t.End(2, Ending::kBundleLost);
  for (const int trial : {1, 2}) {
    EXPECT_EQ(t.Trial(trial).failures, 0U);
    EXPECT_EQ(t.Trial(trial).lost_bundles, 1U);
    EXPECT_EQ(t.State(trial), TrialState::kRunning);
  }
}

TEST(EngineProcessTest, AResumedStudyAsksItsProcessesAgain) {
  SharedProcess t(6);
  t.Tell(1, 1);
  EXPECT_EQ(t.Study().capacity, 1);
  t.Happen(StudyResumed{kStudy, {}, {}});
  EXPECT_EQ(t.Study().capacity, 0);
}

}  // namespace
}  // namespace sluice
