// Launches that fail, are lost, fall silent or take too long.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(EngineRetryTest, AFailedTrialComesBackAfterADoublingWait) {
  TestEngine t("trials: 1\nretries: 2\nbackoff: 4s\n");
  t.Propose(1);
  EXPECT_EQ(t.End(1, Ending::kFailed, "exit code 1"), TestEngine::Lines{"wake 4"});
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(1).note, "exit code 1");
  EXPECT_FALSE(t.Study().finished);
  t.now = 3;
  EXPECT_THAT(t.Wake(), Not(Contains("start 1.2 0..end")));
  t.now = 4;
  EXPECT_THAT(t.Wake(), ElementsAre("start 1.2 0..end"));
  t.now = 5;
  EXPECT_THAT(t.End(1, Ending::kFailed, "again"), ElementsAre("wake 13"));  // after 8 s
  t.now = 13;
  EXPECT_THAT(t.Wake(), ElementsAre("start 1.3 0..end"));
  EXPECT_THAT(t.End(1, Ending::kFailed, "for good"), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kFailed);
  EXPECT_EQ(t.Trial(1).note, "for good");
}

TEST(EngineRetryTest, OneThatWaitsForItsRetryInAStudyThatEndedIsWokenWhenThatIsResumed) {
  TestEngine t("trials: 1\nretries: 1\nbackoff: 10s\n");
  t.Propose(1);
  t.End(1, Ending::kFailed, "no");
  EXPECT_THAT(t.Happen(StudyStopAsked{kStudy}), Contains("finished"));
  t.now = 2;
  EXPECT_THAT(t.Restart(), IsEmpty());
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, {}, {}}), ElementsAre("wake 10"));
  t.now = 10;
  EXPECT_THAT(t.Wake(), ElementsAre("start 1.2 0..end"));
}

TEST(EngineRetryTest, OthersRunWhileOneWaitsToBeRetried) {
  TestEngine t("trials: 2\nretries: 1\nbackoff: 10s\nparallelism: 1\n");
  t.Propose(0);
  EXPECT_THAT(t.Propose(0, 0.1), ElementsAre("start 1.1 0..end"));
  EXPECT_THAT(t.End(1, Ending::kFailed, "no"), ElementsAre("wake 10", "propose 1"));
  EXPECT_THAT(t.Propose(1, 0.2), ElementsAre("start 2.1 0..end"));
  t.now = 10;
  EXPECT_THAT(t.Wake(), IsEmpty());  // its time has come, but another trial takes its place
  EXPECT_THAT(t.End(2, Ending::kFailed, "no"), ElementsAre("wake 20", "start 1.2 0..end"));
}

TEST(EngineRetryTest, ALostLaunchIsNotItsTrialsFault) {
  TestEngine t("trials: 1\nretries: 0\n");
  t.Propose(1);
  t.Report(1, 3, 0.5);
  for (int launch = 2; launch < 10; ++launch) {
    EXPECT_THAT(t.End(1, Ending::kLost), ElementsAre(fmt::format("start 1.{} 3..end", launch)));
  }
  EXPECT_EQ(t.Trial(1).failures, 0U);
}

TEST(EngineRetryTest, ALongLaunchIsKilledAndRetried) {
  TestEngine t("trials: 1\nretries: 1\nbackoff: 1s\ntimeouts: {trial: 100s}\n");
  EXPECT_THAT(t.Propose(0, 0.1), ElementsAre("start 1.1 0..end", "wake 100"));
  t.now = 50;
  t.Report(1, 1, 0.5);
  t.now = 100;
  EXPECT_THAT(t.Wake(), ElementsAre("stop 1.1 timeout"));
  t.now = 101;
  EXPECT_THAT(t.End(1, Ending::kFailed, "killed by signal 9"), ElementsAre("wake 102"));
  EXPECT_EQ(t.Trial(1).note, "ran longer than its time-out of 1m 40s");
  t.now = 102;
  EXPECT_THAT(t.Wake(), ElementsAre("start 1.2 1..end", "wake 202"));
}

// The next launch does not repeat what a launch reported before it was killed.
TEST(EngineRetryTest, AReportOnTheWayOutIsJudged) {
  TestEngine t(
      "trials: 2\nretries: 1\nbackoff: 1s\nstopper: asha\nbudget: {min: 1, max: 9, eta: 3}\n"
      "timeouts: {trial: 100s}\n");
  t.Propose(2);
  t.now = 100;
  EXPECT_THAT(t.Wake(), ElementsAre("stop 1.1 timeout", "stop 2.1 timeout"));
  EXPECT_THAT(t.Report(1, 1, 0.5), IsEmpty());
  EXPECT_EQ(t.Trial(1).target, 3);
  t.End(1, Ending::kFailed, "killed");
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_THAT(t.Report(2, 1, 0.9), ElementsAre("stop 2.1 stopped"));
  t.End(2, Ending::kFailed, "killed");
  EXPECT_EQ(t.State(2), TrialState::kStopped);
}

TEST(EngineRetryTest, AQuietLaunchIsKilledAndEveryReportBuysTime) {
  TestEngine t("trials: 1\nretries: 0\ntimeouts: {report: 10s}\n");
  EXPECT_THAT(t.Propose(0, 0.1), ElementsAre("start 1.1 0..end", "wake 10"));
  t.now = 8;
  t.Report(1, 1, 0.5);
  t.now = 10;
  EXPECT_THAT(t.Wake(), ElementsAre("wake 18"));
  t.now = 18;
  EXPECT_THAT(t.Wake(), ElementsAre("stop 1.1 timeout"));
  t.End(1, Ending::kFailed, "killed");
  EXPECT_EQ(t.State(1), TrialState::kFailed);
  EXPECT_EQ(t.Trial(1).note, "no report within its time-out of 10s");
}

TEST(EngineRetryTest, NoTrialIsBlamedForSilenceWhileNoControllerListened) {
  TestEngine t("trials: 1\nretries: 0\ntimeouts: {report: 10s}\n");
  t.Propose(1);
  t.now = 3600;  // the controller was dead for an hour
  EXPECT_THAT(t.Restart(), ElementsAre("wake 3610"));
  EXPECT_THAT(t.Wake(), Not(Contains("stop 1.1 timeout")));
}

TEST(EngineRetryTest, ASilentWorkerIsDeadAndItsTrialTriedAgain) {
  TestEngine t("trials: 1\nretries: 1\nbackoff: 1s\n");
  t.Propose(1);
  EXPECT_THAT(t.Expire(1), ElementsAre("stop 1.1 lease"));
  t.End(1, Ending::kFailed, "killed by signal 9");
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(1).note, "silent past its lease");
}

// A trial that has reached its full budget is complete, however its program ends.
TEST(EngineRetryTest, ACompleteTrialStaysCompleteWhenItsWorkerHangs) {
  for (const bool lease : {true, false}) {
    TestEngine t("trials: 1\nretries: 1\nbudget: {max: 3}\ntimeouts: {trial: 100s}\n");
    t.Propose(1);
    EXPECT_THAT(t.Report(1, 3, 0.5), ElementsAre("stop 1.1 complete"));
    t.now = 100;
    EXPECT_THAT(lease ? t.Expire(1) : t.Wake(),
                ElementsAre(lease ? "stop 1.1 lease" : "stop 1.1 timeout"));
    EXPECT_THAT(t.End(1, Ending::kFailed, "killed"), ElementsAre("finished"));
    EXPECT_EQ(t.State(1), TrialState::kComplete);
    EXPECT_EQ(t.Trial(1).failures, 0U);
  }
}

// A trial that its stopper or the user has ended does not start again, even if its program was
// killed.
TEST(EngineRetryTest, AStoppedTrialStaysStoppedWhenItsWorkerHangs) {
  for (const bool lease : {true, false}) {
    TestEngine t(
        "trials: 2\nretries: 1\nstopper: asha\nbudget: {min: 1, max: 9, eta: 3}\ntimeouts: {trial: "
        "100s}\n");
    t.Propose(2);
    t.Report(1, 1, 0.1);
    EXPECT_THAT(t.Report(2, 1, 0.9), ElementsAre("stop 2.1 stopped"));
    t.now = 100;
    if (lease) {
      EXPECT_THAT(t.Expire(2), ElementsAre("stop 2.1 lease"));
    } else {
      EXPECT_THAT(t.Wake(), ElementsAre("stop 1.1 timeout"));
    }
    EXPECT_THAT(t.End(2, Ending::kFailed, "killed"), IsEmpty());
    EXPECT_EQ(t.State(2), TrialState::kStopped);
  }
}

TEST(EngineRetryTest, AStoppedStudyStaysStoppedWhenAWorkerHangs) {
  TestEngine t("trials: 2\nretries: 1\ntimeouts: {trial: 100s}\n");
  t.Propose(2);
  t.Happen(StudyStopAsked{kStudy});
  t.Expire(1);
  t.now = 100;
  t.Wake();
  t.End(1, Ending::kFailed, "killed");
  EXPECT_THAT(t.End(2, Ending::kFailed, "killed"), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kStopped);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
}

TEST(EngineRetryTest, APausedTrialStaysPausedWhenItsWorkerHangs) {
  TestEngine t(
      "trials: 3\nretries: 1\nstopper: asha-promotion\nbudget: {min: 1, max: 9, eta: 3}\n");
  t.Propose(2);
  EXPECT_THAT(t.Report(1, 1, 0.5), ElementsAre("stop 1.1 paused"));
  EXPECT_THAT(t.Expire(1), ElementsAre("stop 1.1 lease"));
  t.End(1, Ending::kFailed, "killed");
  EXPECT_EQ(t.State(1), TrialState::kPaused);
}

TEST(EngineRetryTest, EndingWithoutAResultIsNotTriedAgain) {
  TestEngine t("trials: 2\nretries: 5\n");
  t.Propose(2);
  t.End(1, Ending::kDone);
  EXPECT_EQ(t.State(1), TrialState::kFailed);
  EXPECT_EQ(t.Trial(1).note, "ended without reporting 'loss'");
  t.Report(2, 1, Metrics{{"accuracy", 0.5}});
  EXPECT_EQ(t.Trial(2).note, "no 'loss' in the report at epoch 1, which has accuracy");
  t.Report(2, 2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(t.Trial(2).note, "'loss' was NaN at epoch 2");
  t.End(2, Ending::kDone);
  EXPECT_EQ(t.State(2), TrialState::kFailed);
  EXPECT_EQ(t.Trial(2).note,
            "ended without a finite 'loss' in its 2 reports: 'loss' was NaN at epoch 2");
  EXPECT_TRUE(t.Study().finished);
  EXPECT_EQ(Number(t.Study().best), 0U);
}

TEST(EngineRetryTest, WhatWasPrintedInsteadOfTheMetricIsSaid) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  t.End(1, Ending::kDone, "it printed accuracy, epoch");
  EXPECT_EQ(t.Trial(1).note, "ended without reporting 'loss', but it printed accuracy, epoch");
}

TEST(EngineRetryTest, AFailedTrialRetriedByHandIsBeyondTheStopper) {
  TestEngine t("trials: 3\nretries: 0\nstopper: asha\nbudget: {min: 1, max: 9, eta: 3}\n",
               NodeOf(3 * kWhole));
  t.Propose(3);
  t.Report(1, 1, 0.1);
  EXPECT_THAT(t.Retry(1), IsEmpty());  // trial 1 is running, so nothing happens
  t.End(2, Ending::kFailed, "no");
  t.End(1, Ending::kFailed, "no");
  t.End(3, Ending::kFailed, "no");
  EXPECT_TRUE(t.Study().finished);

  EXPECT_THAT(t.Retry(2), ElementsAre("start 2.2 0..9"));
  EXPECT_FALSE(t.Study().finished);
  EXPECT_EQ(t.Trial(2).note, "");
  EXPECT_THAT(t.Report(2, 1, 0.9), IsEmpty());  // far behind trial 1, but it goes on
  EXPECT_THAT(t.Report(2, 9, 0.8), ElementsAre("stop 2.2 complete"));
  EXPECT_THAT(t.End(2), ElementsAre("finished"));
  EXPECT_EQ(t.State(2), TrialState::kComplete);
  EXPECT_THAT(t.Retry(2), IsEmpty());  // it is complete, so nothing happens
  EXPECT_THAT(t.Retry(99), IsEmpty());
}

TEST(EngineRetryTest, WhatReachedItsFullBudgetOnTheWayOutHasNothingToDoAgain) {
  TestEngine t("trials: 1\nbudget: {max: 5}\n");
  t.Propose(1);
  t.Report(1, 3, 0.5);
  t.Happen(StudyStopAsked{kStudy});
  t.Report(1, 5, 0.4);
  EXPECT_THAT(t.End(1, Ending::kFailed, "killed by signal 15"), ElementsAre("finished"));
  EXPECT_THAT(t.Retry(1), IsEmpty());  // it has reached the full budget, so no report could count
  EXPECT_EQ(t.State(1), TrialState::kComplete);
  EXPECT_TRUE(t.Study().finished);
}

TEST(EngineRetryTest, NotesAreBoundedAndReadable) {
  TestEngine t("trials: 1\nretries: 1\n");
  t.Propose(1);
  std::string long_text;
  for (int i = 0; i < 400; ++i) long_text += "\xc3\xa4";  // two bytes for each character
  t.End(1, Ending::kFailed, "x" + long_text);
  EXPECT_EQ(t.Trial(1).note.size(), 499U);  // cut between characters
  t.now = 1;
  t.Wake();
  t.End(1, Ending::kFailed, "\xff latin \xe4\n");
  EXPECT_EQ(t.Trial(1).note, "\xef\xbf\xbd latin \xef\xbf\xbd\n");
}

}  // namespace
}  // namespace sluice
