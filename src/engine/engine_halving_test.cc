// Synchronous halving in the engine: brackets, the last bracket, and that no trial waits for ever.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Brackets of nine trials. Three of the nine go on from work 1 to 3, and one of these to 9.
std::string Sha(int trials, const std::string& more = "") {
  return fmt::format("trials: {}\nstopper: sha\nbudget: {{min: 1, max: 9, eta: 3}}\n{}", trials,
                     more);
}

// The trial reports at its first rung, and leaves if it is paused there.
void Judge(TestEngine& t, int trial, double loss) {
  t.Report(trial, 1, loss);
  if (t.Trial(trial).leaving) t.End(trial, Ending::kPaused);
}

TEST(EngineHalvingTest, NoTrialWaitsLongerThanIsNeeded) {
  TestEngine t(Sha(9), NodeOf(9 * kWhole));
  t.Propose(9);
  for (int trial = 1; trial <= 8; ++trial) Judge(t, trial, trial);
  // The best three go on. Trial 9 may still displace trial 3, but not trials 1 and 2.
  EXPECT_EQ(t.State(1), TrialState::kRunning);
  EXPECT_EQ(t.State(2), TrialState::kRunning);
  EXPECT_EQ(t.Trial(2).target, 3);
  EXPECT_EQ(t.State(3), TrialState::kPaused);
  EXPECT_EQ(t.State(4), TrialState::kStopped);
  t.End(9, Ending::kFailed, "no");
  t.now = 100;
  t.Wake();
  EXPECT_EQ(t.State(9), TrialState::kRunning);  // it is tried again, so its result is still open
  EXPECT_EQ(t.State(3), TrialState::kPaused);
  Judge(t, 9, 100);
  EXPECT_EQ(t.State(9), TrialState::kStopped);
  EXPECT_EQ(t.State(3), TrialState::kRunning);
}

// A launch may take a long time to leave. If there is room, no promoted trial waits for that.
TEST(EngineHalvingTest, WhoIsPromotedByAReportStartsAtOnce) {
  TestEngine t(Sha(9), NodeOf(9 * kWhole));
  t.Propose(9);
  Judge(t, 1, 1);
  Judge(t, 2, 2);
  for (int trial = 3; trial <= 6; ++trial) t.Report(trial, 1, kNan);
  EXPECT_THAT(t.Report(7, 1, kNan), ElementsAre("stop 7.1 stopped", "start 1.2 1..3"));
  EXPECT_THAT(t.Report(8, 1, 0), ElementsAre("budget 8.1 3"));
  EXPECT_THAT(t.Report(9, 1, 3), ElementsAre("stop 9.1 stopped", "start 2.2 1..3"));
}

TEST(EngineHalvingTest, SeveralPromotedAtOnceWaitForRoom) {
  TestEngine t(Sha(7), NodeOf(1 * kWhole));  // two of the seven are promoted
  for (int trial = 1; trial <= 6; ++trial) {
    t.Propose(static_cast<std::uint64_t>(trial - 1), 0.5);
    Judge(t, trial, trial);
  }
  EXPECT_EQ(t.State(3), TrialState::kPaused);
  t.Propose(6, 0.5);
  EXPECT_EQ(t.State(3), TrialState::kStopped);
  t.Report(7, 1, kNan);
  EXPECT_THAT(t.End(7, Ending::kDone), ElementsAre("start 1.2 1..3"));
  EXPECT_EQ(t.State(2), TrialState::kWaiting);
  t.Report(1, 3, 1);
  EXPECT_THAT(t.End(1, Ending::kPaused), ElementsAre("start 2.2 1..3"));
}

TEST(EngineHalvingTest, TheLastBracketHasThePlacesOfItsMembers) {
  TestEngine t(Sha(4), NodeOf(4 * kWhole));
  t.Propose(4);
  Judge(t, 1, 1);
  Judge(t, 2, 2);
  EXPECT_EQ(t.State(1), TrialState::kPaused);
  EXPECT_EQ(t.State(2), TrialState::kStopped);  // only one of the four is promoted
  Judge(t, 3, 3);
  Judge(t, 4, 4);
  EXPECT_EQ(t.State(1), TrialState::kRunning);
  t.Report(1, 3, 1);
  t.Report(1, 9, 1);
  EXPECT_THAT(t.End(1), ElementsAre("finished"));
  EXPECT_EQ(t.Study().count(TrialState::kPaused), 0);
}

TEST(EngineHalvingTest, AProposalOnItsWayKeepsTheBracketOpen) {
  TestEngine t(Sha(3), NodeOf(3 * kWhole));
  t.Propose(2);
  Judge(t, 1, 1);
  Judge(t, 2, 2);
  EXPECT_EQ(t.State(2), TrialState::kPaused);
  t.Happen(StudyStopAsked{kStudy});
  EXPECT_EQ(t.State(2), TrialState::kPaused);  // trial 3 will belong to this bracket
  t.Propose(2, 0.5);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  EXPECT_EQ(t.State(1), TrialState::kPaused);
  EXPECT_EQ(t.State(3), TrialState::kWaiting);
}

TEST(EngineHalvingTest, AnExhaustedSamplerClosesTheBracket) {
  TestEngine t(Sha(9), NodeOf(1 * kWhole));
  t.Propose(0, 0.5);
  Judge(t, 1, 1);
  EXPECT_EQ(t.State(1), TrialState::kPaused);
  EXPECT_THAT(t.Happen(Proposed{kStudy, 1, std::nullopt}), ElementsAre("start 1.2 1..3"));
}

TEST(EngineHalvingTest, AFailureForGoodSettlesTheOthers) {
  TestEngine t(Sha(3, "retries: 0\n"), NodeOf(3 * kWhole));
  t.Propose(3);
  Judge(t, 1, 1);
  Judge(t, 2, 2);
  EXPECT_EQ(t.State(1), TrialState::kPaused);
  EXPECT_THAT(t.End(3, Ending::kFailed, "no"), ElementsAre("start 1.2 1..3"));
}

TEST(EngineHalvingTest, AResumedStudyBeginsANewBracket) {
  TestEngine t(Sha(2), NodeOf(1 * kWhole));
  t.Propose(0, 0.5);
  Judge(t, 1, 1);
  t.Propose(1, 0.5);
  Judge(t, 2, 2);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  t.Report(1, 9, 1);
  EXPECT_THAT(t.End(1), ElementsAre("finished"));
  EXPECT_THAT(t.Happen(StudyResumed{.study = kStudy, .trials = 4, .deadline = {}}),
              ElementsAre("propose 2"));
  t.Propose(2, 0.5);
  Judge(t, 3, 8);  // far worse than trial 1, which was in another bracket
  EXPECT_EQ(t.State(3), TrialState::kPaused);
  t.Propose(3, 0.5);
  Judge(t, 4, 9);
  EXPECT_EQ(t.State(4), TrialState::kStopped);
  EXPECT_EQ(t.State(3), TrialState::kRunning);
}

TEST(EngineHalvingTest, AStudyThatIsStoppedAndResumedLeavesNoTrialWaiting) {
  TestEngine t(Sha(3), NodeOf(3 * kWhole));
  t.Propose(3);
  Judge(t, 1, 1);
  EXPECT_THAT(t.Happen(StudyStopAsked{kStudy}), Contains("stop 2.1 study"));
  t.End(2, Ending::kDone);
  EXPECT_THAT(t.End(3, Ending::kDone), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kPaused);  // nothing new starts once the study is stopped
  EXPECT_THAT(t.Happen(StudyResumed{.study = kStudy, .trials = {}, .deadline = {}}),
              ElementsAre("start 1.2 1..3"));
}

// A trial that loses while it is leaving to pause must not be resumed.
TEST(EngineHalvingTest, ATrialThatLosesOnItsWayOutIsStopped) {
  TestEngine t(Sha(3), NodeOf(3 * kWhole));
  t.Propose(3);
  EXPECT_THAT(t.Report(1, 1, 2), ElementsAre("stop 1.1 paused"));
  EXPECT_THAT(t.Report(2, 1, 1), ElementsAre("stop 2.1 paused", "stop 1.1 stopped"));
  t.End(1, Ending::kPaused);
  EXPECT_EQ(t.State(1), TrialState::kStopped);
}

TEST(EngineHalvingTest, ATrialRetriedByHandIsInNoBracket) {
  TestEngine t(Sha(3), NodeOf(3 * kWhole));
  t.Propose(3);
  Judge(t, 1, 1);
  Judge(t, 2, 2);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  t.Retry(2);
  EXPECT_EQ(t.State(2), TrialState::kRunning);
  EXPECT_THAT(t.Report(2, 9, 0), ElementsAre("stop 2.2 complete"));
  t.End(2);
  EXPECT_EQ(t.State(1), TrialState::kPaused);  // it still waits, but only for trial 3
  Judge(t, 3, 3);
  EXPECT_EQ(t.State(1), TrialState::kRunning);
}

TEST(EngineHalvingTest, TheMedianCountsACompleteTrialOnce) {
  TestEngine t("trials: 9\nstopper: {name: median, startup: 2}\nbudget: {max: 3}\n",
               NodeOf(9 * kWhole));
  t.Propose(9);
  t.Report(1, 1, 1);
  t.Report(1, 3, 1);
  t.End(1);
  EXPECT_THAT(t.Report(2, 1, 9), IsEmpty());  // only one trial is complete
  t.Report(3, 1, 1);
  t.Report(3, 3, 1);
  EXPECT_THAT(t.Report(4, 1, 9), ElementsAre("stop 4.1 stopped"));
}

}  // namespace
}  // namespace sluice
