// How a study begins, ends, is drained and goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(EngineStudyTest, RunsAsManyTrialsAsFitAndThenTheNext) {
  auto engine = NewEngine();
  const StudySpec spec = SpecOf("trials: 3\n");
  EXPECT_THAT(Describe(engine->Apply({At(0), StudyCreated{kStudy, "", "/", 1, spec}})), IsEmpty());
  EXPECT_THAT(Describe(engine->Apply({At(0), ControllerStarted{{NodeOf(2 * kWhole)}}})),
              ElementsAre("propose 0", "propose 1"));
  TestEngine t("trials: 3\n");
  EXPECT_THAT(t.Propose(0, 0.1), ElementsAre("start 1.1 0..end"));
  EXPECT_THAT(t.Propose(1, 0.2), ElementsAre("start 2.1 0..end"));
  t.Report(2, 1, 0.3);
  EXPECT_THAT(t.End(2), ElementsAre("propose 2"));
  EXPECT_EQ(t.State(2), TrialState::kComplete);
  EXPECT_THAT(t.Propose(2, 0.3), ElementsAre("start 3.1 0..end"));
  t.Report(1, 1, 0.2);
  t.Report(3, 1, 0.4);
  EXPECT_THAT(t.End(1), IsEmpty());
  EXPECT_THAT(t.End(3), ElementsAre("finished"));
  EXPECT_EQ(Name(t.Study().ending), "all trials done");
  EXPECT_EQ(Number(t.Study().best), 1U);
}

TEST(EngineStudyTest, ATrialThatAnotherTunerGaveUpIsStopped) {
  TestEngine t("trials: 2\nretries: 3\n");
  t.Propose(2);
  t.Report(1, 1, 0.5);
  t.End(1, Ending::kStopped);
  EXPECT_THAT(t.End(2, Ending::kStopped), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kStopped);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  EXPECT_EQ(Name(t.Study().ending), "all trials done");
  EXPECT_EQ(Number(t.Study().best), 1U);
}

TEST(EngineStudyTest, AProposalIsTakenOnceAndInTurn) {
  TestEngine t("trials: 3\n");
  // A controller that took over asks for new proposals before it repeats those that were under way.
  EXPECT_THAT(t.Propose(1, 0.5), ElementsAre("propose 1"));
  EXPECT_THAT(t.Study().trials, IsEmpty());
  t.Propose(0, 0.5);
  EXPECT_THAT(t.Propose(0, 0.5), IsEmpty());
  EXPECT_THAT(t.Propose(9, 0.5), IsEmpty());  // proposal 9 was not asked for
  EXPECT_EQ(t.Study().trials.size(), 1U);
  EXPECT_THAT(t.Propose(1, 0.5), ElementsAre("start 2.1 0..end"));
}

TEST(EngineStudyTest, TheBestIsByDirectionAndNeverNaN) {
  TestEngine t("trials: 3\nobjective: {maximize: acc}\n", NodeOf(3 * kWhole));
  t.Propose(3);
  t.Report(1, 1, Metrics{{"acc", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(Number(t.Study().best), 0U);
  t.Report(2, 1, Metrics{{"acc", 0.5}});
  t.Report(3, 1, Metrics{{"acc", 0.5}});  // in a tie the first trial stays the best
  EXPECT_EQ(Number(t.Study().best), 2U);
  t.Report(1, 2, Metrics{{"acc", 0.6}});
  t.Report(1, 3, Metrics{{"acc", 0.1}});  // the best report counts
  EXPECT_EQ(Number(t.Study().best), 1U);
  EXPECT_EQ(t.Trial(1).result, 0.6);
  EXPECT_EQ(t.Trial(1).result_work, 2);
  EXPECT_EQ(t.Trial(1).value, 0.1);
}

TEST(EngineStudyTest, TheLastReportCountsWhereThatIsWanted) {
  TestEngine t("trials: 3\nobjective: {maximize: acc, of: last}\n", NodeOf(3 * kWhole));
  t.Propose(3);
  t.Report(1, 1, Metrics{{"acc", 0.5}});
  t.Report(2, 1, Metrics{{"acc", 0.4}});
  t.Report(3, 1, Metrics{{"acc", 0.4}});
  EXPECT_EQ(Number(t.Study().best), 1U);
  t.Report(1, 2, Metrics{{"acc", 0.45}});  // worse than before, but still the best trial
  EXPECT_EQ(Number(t.Study().best), 1U);
  EXPECT_EQ(t.Trial(1).result, 0.45);
  EXPECT_EQ(t.Trial(1).result_work, 2);
  t.Report(1, 3, Metrics{{"acc", 0.1}});
  EXPECT_EQ(Number(t.Study().best), 2U);  // in a tie the first trial is the best
  t.Report(2, 2, Metrics{{"other", 1}});  // without the objective's metric, the result stays
  EXPECT_EQ(t.Trial(2).result, 0.4);
  EXPECT_EQ(t.Trial(2).result_work, 1);
  t.Report(2, 3, Metrics{{"acc", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_FALSE(t.Trial(2).HasResult());
  EXPECT_EQ(Number(t.Study().best), 3U);
  t.Report(3, 2, Metrics{{"acc", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(Number(t.Study().best), 1U);
  t.Report(1, 4, Metrics{{"acc", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(Number(t.Study().best), 0U);
}

TEST(EngineStudyTest, ReachingTheTargetEndsEverything) {
  TestEngine t("trials: 9\nstop_at: {loss: 0.1}\n");
  t.Propose(2);
  EXPECT_THAT(t.Report(1, 1, std::numeric_limits<double>::quiet_NaN()), IsEmpty());
  EXPECT_THAT(t.Report(1, 2, 0.1), ElementsAre("stop 1.1 study", "stop 2.1 study"));
  EXPECT_THAT(t.End(1, Ending::kFailed, "killed by signal 15"), IsEmpty());
  EXPECT_THAT(t.End(2, Ending::kDone), ElementsAre("finished"));
  EXPECT_EQ(Name(t.Study().ending), "target reached");
  EXPECT_EQ(t.State(1), TrialState::kStopped);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
}

TEST(EngineStudyTest, ATrialThatReachesTheTargetWithItsLastReportIsComplete) {
  TestEngine t("trials: 9\nstop_at: {loss: 0.1}\nbudget: {max: 5}\n");
  t.Propose(2);
  EXPECT_THAT(t.Report(1, 5, 0.1), ElementsAre("stop 1.1 complete", "stop 2.1 study"));
  t.End(1);
  EXPECT_EQ(t.State(1), TrialState::kComplete);
}

TEST(EngineStudyTest, OtherMetricsCanEndItToo) {
  TestEngine t("trials: 9\nstop_at: {speed: {above: 10}}\n");
  t.Propose(1);
  EXPECT_THAT(t.Report(1, 1, Metrics{{"speed", 9}}), IsEmpty());
  EXPECT_THAT(t.Report(1, 2, Metrics{{"speed", 11}}), ElementsAre("stop 1.1 study"));
}

TEST(EngineStudyTest, AfterTheDeadlineNothingNewStarts) {
  TestEngine t("trials: 9\ndeadline: 60s\nretries: 3\nbackoff: 1s\n");
  t.Propose(2);
  t.Report(1, 1, 0.5);
  t.now = 60;
  EXPECT_THAT(t.Wake(), ElementsAre("stop 1.1 paused", "stop 2.1 paused"));
  EXPECT_THAT(t.End(1), IsEmpty());
  EXPECT_THAT(t.End(2, Ending::kFailed, "no"), Contains("finished"));
  EXPECT_EQ(Name(t.Study().ending), "deadline passed");
  EXPECT_THAT(t.Wake(), IsEmpty());
}

TEST(EngineStudyTest, WhoRunsAtTheDeadlineSavesByThenAndGoesOnWithAnother) {
  TestEngine t("trials: 9\ndeadline: 60s\n");
  t.Propose(2);
  t.now = 10;
  t.Drain();
  t.now = 14;
  t.End(1, Ending::kPaused);
  t.now = 16;  // so saving and leaving takes up to 6 s
  t.End(2, Ending::kPaused);
  EXPECT_THAT(t.Restart(), Contains("wake 54"));
  t.now = 54;
  EXPECT_THAT(t.Wake(), ElementsAre("stop 1.2 paused", "stop 2.2 paused"));
  t.now = 60;
  t.End(1, Ending::kPaused, "", 10);
  EXPECT_THAT(t.End(2, Ending::kPaused, "", 10), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, {}, At(200)}), Contains("start 1.3 0..end"));
}

TEST(EngineStudyTest, ThatNothingIsNeededToLeaveIsKnownToo) {
  TestEngine t("trials: 9\ndeadline: 60s\n");
  t.Propose(2);
  t.now = 10;
  EXPECT_FALSE(t.Study().leave_known);
  t.Drain();
  t.End(1, Ending::kPaused);
  EXPECT_TRUE(t.Study().leave_known);
  EXPECT_EQ(t.Study().leave, Duration(0));
  t.Restart();
  EXPECT_TRUE(t.Study().leave_known);
}

TEST(EngineStudyTest, ADeadlineThatPassedWithoutAControllerHoldsToo) {
  TestEngine t("trials: 9\ndeadline: 60s\n");
  t.Propose(2);
  t.Drain();
  t.End(1, Ending::kPaused);
  t.End(2, Ending::kPaused);
  t.now = 100;
  t.Happen(StudyResumed{kStudy, {}, {}});
  EXPECT_THAT(t.Restart(), Not(Contains("start 1.2 0..end")));
  EXPECT_TRUE(t.Study().finished);
  EXPECT_EQ(Name(t.Study().ending), "deadline passed");
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, {}, At(200)}),
              ElementsAre("wake 200", "start 1.2 0..end", "start 2.2 0..end"));
}

TEST(EngineStudyTest, RetryingATrialDoesNotUndoTheDeadline) {
  TestEngine t("trials: 9\ndeadline: 60s\nretries: 0\n");
  t.Propose(2);
  t.End(1, Ending::kFailed, "no");
  t.now = 60;
  t.Wake();
  t.End(2, Ending::kFailed, "no");
  EXPECT_THAT(t.Retry(1), ElementsAre("finished"));
  EXPECT_EQ(Name(t.Study().ending), "deadline passed");
}

TEST(EngineStudyTest, AStoppedStudyStopsWhatRunsAndCanGoOn) {
  TestEngine t("trials: 3\n");
  t.Propose(2);
  EXPECT_THAT(t.Happen(StudyStopAsked{kStudy}), ElementsAre("stop 1.1 study", "stop 2.1 study"));
  t.End(1, Ending::kPaused);
  EXPECT_THAT(t.End(2, Ending::kPaused), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kStopped);
  EXPECT_THAT(t.Happen(StudyStopAsked{kStudy}), IsEmpty());
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, {}, {}}), ElementsAre("propose 2"));
}

TEST(EngineStudyTest, TheSpaceCanBeExhausted) {
  TestEngine t("trials: 9\nspace: {n: {int: [1, 2]}}\nsampler: grid\n");
  t.Propose(0, 1);
  t.Propose(1, 2);
  t.Report(1, 1, 0.5);
  EXPECT_THAT(t.End(1), ElementsAre("propose 2"));
  EXPECT_THAT(t.Happen(Proposed{kStudy, 2, std::nullopt}), IsEmpty());
  t.Report(2, 1, 0.5);
  EXPECT_THAT(t.End(2), ElementsAre("finished"));
  EXPECT_EQ(Name(t.Study().ending), "space exhausted");
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, 20, {}}), ElementsAre("finished"));
}

TEST(EngineStudyTest, AFinishedStudyGoesOnWithMoreTrials) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  t.Report(1, 1, 0.5);
  EXPECT_THAT(t.End(1), ElementsAre("finished"));
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, 3, {}}), ElementsAre("propose 1", "propose 2"));
  EXPECT_THAT(t.Propose(1, 0.5), ElementsAre("start 2.1 0..end"));
}

TEST(EngineStudyTest, DrainedTrialsComeFirstWhenItGoesOn) {
  TestEngine t("trials: 9\n", NodeOf(3 * kWhole));
  t.Propose(2);
  t.Report(1, 4, 0.5);
  t.Report(2, 2, 0.5);
  EXPECT_THAT(t.Drain(), ElementsAre("stop 1.1 drain", "stop 2.1 drain"));
  EXPECT_THAT(t.Propose(2, 0.9), IsEmpty());  // was on its way: its trial is kept, not started
  EXPECT_THAT(t.End(1, Ending::kPaused), IsEmpty());
  EXPECT_THAT(t.End(2, Ending::kFailed, "killed by signal 15"), IsEmpty());  // counts as leaving
  EXPECT_EQ(t.Trial(2).failures, 0U);
  EXPECT_EQ(t.State(2), TrialState::kWaiting);
  EXPECT_FALSE(t.Study().finished);
  EXPECT_THAT(t.Restart(), ElementsAre("start 1.2 4..end", "start 2.2 2..end", "start 3.1 0..end"));
}

TEST(EngineStudyTest, OneThatYieldsToAPlanIsToldWhenTheControllerLeaves) {
  TestEngine t("trials: 2\n");
  t.Propose(2);
  const StudyCreated& created = t.created();
  EXPECT_EQ(created.rules, kRules);
  EXPECT_THAT(t.Drain(), ElementsAre("stop 1.1 drain", "stop 2.1 drain"));
  EXPECT_THAT(t.Drain(), IsEmpty());
  // However a launch ended, its trial goes on later, and no failure is counted.
  t.End(1, Ending::kFailed, "killed by signal 15");
  t.End(2, Ending::kPaused);
  EXPECT_EQ(t.State(1), TrialState::kWaiting);
  EXPECT_EQ(t.Trial(1).failures, 0U);
  EXPECT_EQ(t.State(2), TrialState::kWaiting);
  EXPECT_THAT(t.Restart(), ElementsAre("start 1.2 0..end", "start 2.2 0..end"));
}

TEST(EngineStudyTest, InAStudyOfBeforeWhatCannotHearGoesOnWhenTheControllerLeaves) {
  auto engine = NewEngine();
  engine->Apply({At(0), StudyCreated{kStudy, "", "/", 1, SpecOf("trials: 1\n"), /*rules=*/1}});
  engine->Apply({At(0), ControllerStarted{{NodeOf(1 * kWhole)}}});
  engine->Apply({At(0), Proposed{kStudy, 0, Point{0.5}}});
  EXPECT_THAT(Describe(engine->Apply({At(1), DrainAsked{}})), ElementsAre("stop 1.1 yield"));
}

TEST(EngineStudyTest, WhatIsWrittenDownWithoutAControllerLeavesWhatRunsAlone) {
  TestEngine t("trials: 3\nretries: 0\n", NodeOf(2 * kWhole));
  t.Propose(2);
  t.End(1, Ending::kFailed, "exit code 1");
  EXPECT_THAT(t.Happen(DrainAsked{.only_starts = true}), IsEmpty());
  EXPECT_THAT(t.Retry(1), IsEmpty());
  EXPECT_FALSE(t.Trial(2).leaving);
  EXPECT_THAT(t.Restart(), Contains("start 1.2 0..end"));
  EXPECT_EQ(t.State(2), TrialState::kRunning);
}

TEST(EngineStudyTest, OneTrialAloneIsStoppedByHand) {
  TestEngine t("trials: 4\nstopper: sha\nbudget: {min: 1, max: 4, eta: 4}\n", NodeOf(3 * kWhole));
  t.Propose(3);
  t.Report(1, 1, 0.3);
  t.End(1, Ending::kPaused);
  EXPECT_EQ(t.State(1), TrialState::kPaused);
  EXPECT_THAT(t.Happen(TrialStopAsked{TestEngine::Key(2)}), Contains("stop 2.1 study"));
  EXPECT_THAT(t.Happen(TrialStopAsked{TestEngine::Key(2)}), Not(Contains("stop 2.1 study")));
  t.End(2, Ending::kDone);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  EXPECT_EQ(t.Trial(2).note, "stopped by hand");
  t.Happen(TrialStopAsked{TestEngine::Key(1)});
  EXPECT_EQ(t.State(1), TrialState::kStopped);
  t.Happen(TrialStopAsked{TestEngine::Key(99)});  // there is no such trial
  EXPECT_EQ(t.Study().ending, Finish::kNot);
}

// Ends the trial's launch with a failure. The study has no retries, so the trial has failed for
// good.
void FailFor(TestEngine& t, int trial, const char* reason = "exit code 1") {
  t.End(trial, Ending::kFailed, reason);
}

TEST(EngineStudyTest, WhenTheFirstFiveCameToNothingTheStudyStops) {
  TestEngine t("trials: 20\nretries: 0\n", NodeOf(2 * kWhole));
  t.Propose(2);
  for (int trial = 1; trial <= 4; ++trial) {
    FailFor(t, trial);
    t.Propose(static_cast<std::uint64_t>(trial + 1), 0.5);
    EXPECT_EQ(t.Study().ending, Finish::kNot);
  }
  t.Report(6, 1, 0.5);  // trial 6 is not over yet
  EXPECT_THAT(t.End(5, Ending::kFailed, "exit code 1"), ElementsAre("stop 6.1 paused"));
  EXPECT_EQ(t.Study().ending, Finish::kFailures);
  EXPECT_THAT(t.End(6, Ending::kPaused), ElementsAre("finished"));
  EXPECT_EQ(t.State(6), TrialState::kWaiting);
  // Once the study is resumed, failures are counted from 0 again.
  EXPECT_THAT(t.Happen(StudyResumed{kStudy, {}, {}}), Contains("start 6.2 1..end"));
  FailFor(t, 6);
  EXPECT_EQ(t.Study().ending, Finish::kNot);
}

TEST(EngineStudyTest, OneTrialThatReportedKeepsAStudyGoing) {
  TestEngine t("trials: 20\nretries: 0\n", NodeOf(1 * kWhole));
  for (int trial = 1; trial <= 8; ++trial) {
    t.Propose(static_cast<std::uint64_t>(trial - 1), 0.5);
    if (trial == 3) t.Report(trial, 1, 0.5);
    FailFor(t, trial);
  }
  EXPECT_EQ(t.Study().ending, Finish::kNot);
}

TEST(EngineStudyTest, MaxFailuresEndTheStudyWhateverWasReported) {
  TestEngine t("trials: 20\nretries: 0\nmax_failures: 2\n", NodeOf(1 * kWhole));
  for (int trial = 1; trial <= 3; ++trial) {
    t.Propose(static_cast<std::uint64_t>(trial - 1), 0.5);
    EXPECT_EQ(t.Study().ending, Finish::kNot);
    t.Report(trial, 1, 0.5);
    if (trial == 2) {
      t.End(trial);
    } else {
      FailFor(t, trial);
    }
  }
  EXPECT_EQ(t.Study().ending, Finish::kFailures);
  EXPECT_TRUE(t.Study().finished);
}

TEST(EngineStudyTest, WhatTheMachineCouldNotStartIsNoFailure) {
  TestEngine t("trials: 20\nretries: 0\nmax_failures: 1\n", NodeOf(1 * kWhole));
  t.Propose(1);
  t.End(1, Ending::kNotStarted, "disk full");
  EXPECT_EQ(t.Study().ending, Finish::kNot);
}

TEST(EngineStudyTest, ADrainedTrialThatFinishesIsComplete) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  t.Report(1, 4, 0.5);
  t.Drain();
  EXPECT_THAT(t.End(1, Ending::kDone), IsEmpty());
  EXPECT_EQ(t.State(1), TrialState::kComplete);
  EXPECT_THAT(t.Restart(), ElementsAre("finished"));
}

TEST(EngineStudyTest, TwoStudiesShareAMachineInTurn) {
  auto engine = NewEngine();
  engine->Apply({At(0), ControllerStarted{{NodeOf(2 * kWhole)}}});
  const StudyId second{2};
  engine->Apply(
      {At(0), StudyCreated{kStudy, "", "/", 1, SpecOf("trials: 9\nparallelism: 1\n", "a")}});
  const auto lines = Describe(
      engine->Apply({At(0), StudyCreated{second, "", "/", 1, SpecOf("trials: 9\n", "b")}}));
  EXPECT_EQ(lines, TestEngine::Lines{"propose 0"});  // for b: a may run only one trial at a time
  engine->Apply({At(0), Proposed{kStudy, 0, Point{0.5}}});
  engine->Apply({At(0), Proposed{second, 0, Point{0.5}}});
  EXPECT_EQ(engine->study(kStudy)->running.size(), 1U);
  EXPECT_EQ(engine->study(second)->running.size(), 1U);
  EXPECT_EQ(engine->FindStudy("b")->id, second);
  EXPECT_EQ(engine->FindStudy("c"), nullptr);
}

// Two simulated studies showed this bug: the first asked for room that it had no trials for. The
// second study got none of that room, and was not asked again when the first was done.
TEST(EngineStudyTest, RoomThatAStudyCannotUseIsForTheOthers) {
  auto engine = NewEngine();
  const StudyId second{2};
  engine->Apply({At(0), ControllerStarted{{NodeOf(4 * kWhole)}}});
  engine->Apply({At(0), StudyCreated{kStudy, "", "/", 1, SpecOf("trials: 1\n", "a")}});
  EXPECT_THAT(Describe(engine->Apply({At(0), Proposed{kStudy, 0, Point{0.5}}})),
              ElementsAre("start 1.1 0..end"));
  EXPECT_THAT(Describe(engine->Apply(
                  {At(1), StudyCreated{second, "", "/", 1, SpecOf("trials: 9\n", "b")}})),
              ElementsAre("propose 0", "propose 1", "propose 2"));
}

TEST(EngineStudyTest, AStudyDoesNotEndWhileOthersHoldTheRoomToResumeWhatIsPaused) {
  TestEngine t("trials: 2\nstopper: asha-promotion\nbudget: {min: 1, max: 2, eta: 2}\n");
  const StudyId second{2};
  t.Propose(2);
  t.Happen(StudyCreated{second, "", "/", 1, SpecOf("trials: 1\n", "b")});
  t.Report(1, 1, 0.1);
  EXPECT_THAT(t.End(1, Ending::kPaused), ElementsAre("propose 0"));
  t.Happen(Proposed{second, 0, Point{0.5}});
  t.Report(2, 1, 0.2);
  t.Happen(NodesChanged{{NodeOf(1 * kWhole)}});  // the other study uses this node
  EXPECT_THAT(t.End(2, Ending::kPaused), IsEmpty());
  EXPECT_FALSE(t.Study().finished);
  EXPECT_THAT(t.Happen(LaunchEnded{.trial = {second, TrialId{1}},
                                   .launch = LaunchId{1},
                                   .position = {},
                                   .ending = Ending::kDone,
                                   .reason = "",
                                   .checkpoint_bytes = -1}),
              Contains("start 1.2 1..2"));
}

TEST(EngineStudyTest, ASmallerMachineTakesOverWhatRunsAndStartsNoMore) {
  TestEngine t("trials: 9\nresources: {cpus: 1, gpus: 1}\n", NodeOf(2 * kWhole, 2));
  EXPECT_THAT(t.Propose(0, 0.5), ElementsAre("start 1.1 0..end gpu0"));
  EXPECT_THAT(t.Propose(1, 0.5), ElementsAre("start 2.1 0..end gpu1"));
  t.Report(1, 1, 0.5);
  t.Report(2, 1, 0.5);
  EXPECT_THAT(t.Happen(ControllerStarted{{NodeOf(1 * kWhole, 1)}}), IsEmpty());
  EXPECT_THAT(t.End(2), IsEmpty());  // trial 2's GPU does not exist any more
  EXPECT_THAT(t.End(1), ElementsAre("propose 2"));
  EXPECT_THAT(t.Propose(2, 0.5), ElementsAre("start 3.1 0..end gpu0"));
}

TEST(EngineStudyTest, ChangedTrialsAreToldOnceEach) {
  TestEngine t("trials: 30\n", NodeOf(30 * kWhole));
  t.Propose(30);
  (void)t.engine().TakeChanged();
  for (Work work : {1, 2}) {
    for (int trial = 1; trial <= 30; ++trial) t.Report(trial, work, 0.5);
  }
  const std::vector<TrialKey> changed = t.engine().TakeChanged();
  ASSERT_EQ(changed.size(), 30U);
  for (int trial = 1; trial <= 30; ++trial)
    EXPECT_EQ(changed[static_cast<std::size_t>(trial - 1)], t.Key(trial));
  EXPECT_THAT(t.engine().TakeChanged(), IsEmpty());
}

}  // namespace
}  // namespace sluice
