// Checkpoints are removed to keep a study's checkpoint_cap.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EngineCheckpointTest, CheckpointsOfEndedTrialsGoFirstOldestFirstButNeverTheBest) {
  TestEngine t("trials: 4\ncheckpoint_cap: 100\n", NodeOf(4 * kWhole));
  t.Propose(4);
  for (int trial = 1; trial <= 3; ++trial) {
    t.now = trial;
    t.Report(trial, 1, 0.1 * trial);
    EXPECT_THAT(t.Save(trial, 1, 30), IsEmpty());
    EXPECT_THAT(t.End(trial, Ending::kDone, "", 30), IsEmpty());
  }
  EXPECT_EQ(t.Study().checkpoint_bytes, 90);
  EXPECT_THAT(t.Save(4, 1, 10), IsEmpty());
  // Trial 1 is the best, and trial 3 ended later than trial 2.
  EXPECT_THAT(t.Save(4, 2, 20), ElementsAre("evict 2"));
  EXPECT_EQ(t.Study().checkpoint_bytes, 80);
  EXPECT_EQ(t.Trial(2).saved_work, 0);
  // The checkpoints of the best and of the running trial stay, whatever the cap.
  EXPECT_THAT(t.Save(4, 3, 1000), ElementsAre("evict 3"));
  EXPECT_EQ(t.Study().checkpoint_bytes, 1030);
  EXPECT_THAT(t.Report(4, 3, 0.0), ElementsAre("evict 1"));  // now trial 4 is the best
}

TEST(EngineCheckpointTest, ThenPausedTrialsTheCheapestToTrainAgainFirst) {
  TestEngine t(
      "trials: 4\nstopper: asha-promotion\nbudget: {min: 1, max: 9, eta: 4}\ncheckpoint_cap: 100\n",
      NodeOf(5 * kWhole));
  t.Propose(4);
  t.Report(1, 1, 0.5);
  t.Report(2, 1, 0.1);  // the best trial
  t.Report(3, 1, 0.5);
  t.now = 10;
  t.End(3, Ending::kPaused, "", 40);
  t.now = 20;
  EXPECT_THAT(t.End(2, Ending::kPaused, "", 40), IsEmpty());
  t.now = 30;
  EXPECT_THAT(t.End(1, Ending::kPaused, "", 40),
              ElementsAre("evict 3"));  // it trained for 10 s, the others for 20 and 30
  EXPECT_THAT(t.Save(4, 1, 90), ElementsAre("evict 1"));
  t.Report(4, 1, 0.9);
  // Trial 2 is promoted, and goes on from its checkpoint.
  t.End(4, Ending::kPaused);
  EXPECT_EQ(t.Trial(2).launch.id, LaunchId(2));
}

TEST(EngineCheckpointTest, WhatWasEvictedStaysUnfinishedUntilItRunsAgain) {
  TestEngine t("trials: 3\ncheckpoint_cap: 50\n", NodeOf(3 * kWhole));
  t.Propose(3);
  t.Report(1, 1, 0.1);
  t.Report(2, 1, 0.2);
  t.End(2, Ending::kDone, "", 30);
  t.End(1, Ending::kDone, "", 30);
  EXPECT_TRUE(t.Trial(2).evicted);
  EXPECT_THAT(Describe(t.engine().Unfinished()), Contains("evict 2"));
  EXPECT_THAT(Describe(t.engine().Unfinished()), Contains("start 3.1 0..end"));
}

TEST(EngineCheckpointTest, ATrialWhoseCheckpointIsGoneStartsAgain) {
  TestEngine t("trials: 2\ncheckpoint_cap: 10\nretries: 1\nbackoff: 0s\n");
  t.Propose(2);
  t.Report(1, 3, 0.1);
  t.Report(2, 3, 0.2);
  t.Save(2, 3, 30);
  EXPECT_THAT(t.End(2, Ending::kFailed, "no", 30),
              ElementsAre("wake 0", "evict 2", "evict 2", "start 2.2 3..end"));
  EXPECT_THAT(Describe(t.engine().Unfinished()), ::testing::Not(Contains("evict 2")));
  // The removal is carried out just before the launch starts. The lost launch sent no message, so
  // perhaps neither happened, and the removal is asked for again.
  EXPECT_THAT(t.End(2, Ending::kLost), ElementsAre("evict 2", "start 2.3 3..end"));
  t.Report(2, 4, 0.2);
  EXPECT_FALSE(t.Trial(2).evicted);  // otherwise its next checkpoint would be removed
}

}  // namespace
}  // namespace sluice
