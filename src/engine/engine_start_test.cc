// Launches that the machine cannot start, and checkpoints that are ahead of what was reported.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EngineStartTest, WhatTheMachineFailsToStartIsTriedAgainAndChargedToNoTrial) {
  TestEngine t("trials: 2\nretries: 0\n");
  t.Propose(2);
  EXPECT_THAT(t.End(1, Ending::kNotStarted, "no room"), ElementsAre("wake 0.5"));
  EXPECT_THAT(t.End(2, Ending::kNotStarted, "no room"), IsEmpty());  // belongs to the same round
  EXPECT_EQ(t.Trial(1).failures, 0U);
  EXPECT_EQ(t.State(2), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(1).note, "no room");
  t.now = 0.4;
  EXPECT_THAT(t.Wake(), IsEmpty());
  t.now = 0.5;
  EXPECT_THAT(t.Wake(), ElementsAre("start 1.2 0..end", "start 2.2 0..end"));
  EXPECT_THAT(t.End(1, Ending::kNotStarted, "no room"), ElementsAre("wake 1.5"));
  // A launch that reports has started, so the machine can start launches again.
  t.Report(2, 1, 0.5);
  EXPECT_EQ(t.Study().failed_starts, 0U);
  t.now = 1.5;
  EXPECT_THAT(t.Wake(), ElementsAre("start 1.3 0..end"));
  EXPECT_THAT(t.End(1, Ending::kNotStarted, "no room"), ElementsAre("wake 2"));
}

TEST(EngineStartTest, ALaunchThatTimesOutAndThenCannotStartIsChargedToNoTrial) {
  TestEngine t("trials: 1\nretries: 0\ntimeouts: {trial: 100s}\n");
  t.Propose(1);
  t.now = 100;
  EXPECT_THAT(t.Wake(), ElementsAre("stop 1.1 timeout"));
  EXPECT_THAT(t.End(1, Ending::kNotStarted, "disk full"), ElementsAre("wake 100.5"));
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(1).failures, 0U);
  EXPECT_EQ(t.Trial(1).note, "disk full");
}

TEST(EngineStartTest, UnderRules3ALaunchThatTimesOutAndThenCannotStartIsCharged) {
  auto engine = NewEngine();
  const auto spec = SpecOf("trials: 1\nretries: 1\ntimeouts: {trial: 100s}\n");
  engine->Apply({At(0), StudyCreated{kStudy, "", "/", 1, spec, /*rules=*/3}});
  engine->Apply({At(0), ControllerStarted{{NodeOf(1 * kWhole)}}});
  engine->Apply({At(0), Proposed{kStudy, 0, Point{0.5}}});
  engine->Apply({At(100), Woken{}});
  engine->Apply({At(100), LaunchEnded{.trial = TestEngine::Key(1),
                                      .launch = LaunchId{1},
                                      .position = {},
                                      .ending = Ending::kNotStarted,
                                      .reason = "disk full"}});
  EXPECT_EQ(engine->studies().front()->trials.front().failures, 1U);
}

TEST(EngineStartTest, AMachineThatFailsAgainAndAgainPausesTheStudy) {
  TestEngine t("trials: 2\nretries: 0\n");
  t.Propose(2);
  t.Report(2, 1, 0.5);
  for (const double at : {0.0, 0.5, 1.5}) {
    t.now = at;
    if (at > 0) t.Wake();
    t.End(1, Ending::kNotStarted, "disk full");
    EXPECT_EQ(t.Study().pause, "");
  }
  t.now = 3.5;
  t.Wake();
  EXPECT_THAT(t.End(1, Ending::kNotStarted, "disk full"), ElementsAre("stop 2.1 yield"));
  EXPECT_EQ(t.Study().pause, "disk full");
  EXPECT_TRUE(t.Study().paused);
  EXPECT_FALSE(t.Study().finished);
  t.End(2, Ending::kPaused);
  EXPECT_EQ(t.engine().running(), 0);
  EXPECT_EQ(t.Trial(1).failures, 0U);
  t.now = 10;
  t.Restart();
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, {}, {}}), Not(IsEmpty()));
  EXPECT_EQ(t.Study().pause, "");
  EXPECT_EQ(t.State(1), TrialState::kRunning);
}

class EngineAheadTest : public ::testing::Test {
 protected:
  TestEngine::Lines EndWell(int trial, Work checkpoint_work) {
    return t.Happen(LaunchEnded{.trial = TestEngine::Key(trial),
                                .launch = t.Trial(trial).launch.id,
                                .position = {},
                                .ending = Ending::kDone,
                                .reason = "",
                                .checkpoint_bytes = 10,
                                .checkpoint_work = checkpoint_work});
  }
  TestEngine t{"trials: 1\nretries: 0\nbudget: {max: 12}\n"};
};

TEST_F(EngineAheadTest, ACheckpointAheadOfTheReportsIsNoEnd) {
  t.Propose(1);
  t.Report(1, 10, 0.5);
  t.End(1, Ending::kLost, "killed", 10);
  EXPECT_THAT(EndWell(1, 12), ElementsAre("evict 1", "evict 1", "start 1.3 10..12"));
  EXPECT_EQ(t.Trial(1).failures, 0U);
  t.Report(1, 11, 0.4);
  t.Report(1, 12, 0.3);
  EndWell(1, 12);
  EXPECT_EQ(t.State(1), TrialState::kComplete);
}

TEST_F(EngineAheadTest, OneThatDoesNotSayItsWorkIsAheadAfterALoss) {
  t.Propose(1);
  t.Report(1, 10, 0.5);
  t.End(1, Ending::kLost, "killed", 10);
  EXPECT_THAT(EndWell(1, 0), Contains("evict 1"));
  EndWell(1, 0);  // the trial begins again only once
  EXPECT_EQ(t.State(1), TrialState::kComplete);
}

TEST_F(EngineAheadTest, WhoEndsEarlyByItselfHasEnded) {
  t.Propose(1);
  t.Report(1, 10, 0.5);
  EndWell(1, 10);
  EXPECT_EQ(t.State(1), TrialState::kComplete);
}

TEST_F(EngineAheadTest, ACheckpointOfWhatWasReportedIsNotAhead) {
  t.Propose(1);
  t.Report(1, 10, 0.5);
  t.End(1, Ending::kPaused, "", 10);
  EndWell(1, 10);
  EXPECT_EQ(t.State(1), TrialState::kComplete);
}

}  // namespace
}  // namespace sluice
