// Stoppers in the engine: verdicts, pauses, promotions, and programs that ignore requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kAsha = "trials: 9\nstopper: asha\nbudget: {min: 1, max: 9, eta: 3}\n";
constexpr const char* kPromotion =
    "trials: 9\nstopper: asha-promotion\nbudget: {min: 1, max: 9, eta: 3}\n";

TEST(EngineAshaTest, GoodTrialsGoOnBadOnesStop) {
  TestEngine t(kAsha);
  EXPECT_THAT(t.Propose(0, 0.5), ElementsAre("start 1.1 0..1"));
  t.Propose(1, 0.5);
  EXPECT_THAT(t.Report(1, 1, 0.5), ElementsAre("budget 1.1 3"));
  EXPECT_THAT(t.Report(2, 1, 0.9), ElementsAre("stop 2.1 stopped"));
  EXPECT_THAT(t.Report(2, 2, 0.1), IsEmpty());  // too late to matter, but recorded
  EXPECT_EQ(t.Trial(2).result, 0.1);
  EXPECT_THAT(t.End(2, Ending::kDone), ElementsAre("propose 2"));
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  EXPECT_THAT(t.Report(1, 9, 0.4), ElementsAre("stop 1.1 complete"));
  EXPECT_THAT(t.Report(1, 10, 0.3),
              ElementsAre("stop 1.1 complete"));  // it ignored the request, so it is told again
  t.End(1, Ending::kFailed, "killed by signal 15");
  EXPECT_EQ(t.State(1), TrialState::kComplete);
}

TEST(EngineAshaTest, ADivergedTrialIsStopped) {
  for (const char* study : {kAsha, kPromotion}) {
    TestEngine t(study);
    t.Propose(1);
    EXPECT_THAT(t.Report(1, 1, std::numeric_limits<double>::quiet_NaN()),
                ElementsAre("stop 1.1 stopped"));
  }
}

TEST(EngineAshaTest, PausedTrialsAreResumedWhenTheyTurnOutToBeGood) {
  TestEngine t(kPromotion, NodeOf(1 * kWhole));
  for (std::uint64_t i = 0; i < 2; ++i) {
    const int trial = static_cast<int>(i) + 1;
    t.Propose(i, 0.5);
    EXPECT_THAT(t.Report(trial, 1, 0.1 * trial), Contains(fmt::format("stop {}.1 paused", trial)));
    EXPECT_THAT(t.End(trial, Ending::kPaused), ElementsAre(fmt::format("propose {}", i + 1)));
    EXPECT_EQ(t.State(trial), TrialState::kPaused);
  }
  t.Propose(2, 0.5);
  t.Report(3, 1, 0.3);
  EXPECT_THAT(t.End(3, Ending::kPaused), ElementsAre("start 1.2 1..3"));  // the best of three
  EXPECT_EQ(t.State(1), TrialState::kRunning);
}

TEST(EngineAshaTest, PausedTrialsDoNotHoldUpTheEnd) {
  TestEngine t("trials: 2\nstopper: asha-promotion\nbudget: {min: 1, max: 9, eta: 3}\n");
  t.Propose(2);
  t.Report(1, 1, 0.1);
  t.Report(2, 1, 0.2);
  t.End(1, Ending::kPaused);
  EXPECT_THAT(t.End(2, Ending::kPaused), ElementsAre("finished"));
  EXPECT_EQ(t.State(1), TrialState::kPaused);
}

// The first of three trials goes past its target, and is promoted. It makes no difference whether
// its launch leaves before the promotion or after it.
TEST(EngineAshaTest, ATrialThatOvershotIsJudgedWhereItIs) {
  for (const bool left : {true, false}) {
    for (const Work overshoot : {2, 4, 9}) {
      TestEngine t(kPromotion, NodeOf(4 * kWhole));
      t.Propose(3);
      t.Report(1, 1, 0.1);  // it is told to pause
      t.Report(1, overshoot, 0.1);
      if (left) t.End(1, Ending::kPaused);
      t.Report(2, 1, 0.2);
      t.Report(3, 1, 0.3);
      t.End(3, Ending::kPaused);  // now the best of three goes on
      if (!left) t.End(1, Ending::kPaused);
      SCOPED_TRACE(fmt::format("left {}, overshoot {}", left, overshoot));
      if (overshoot == 2) {
        EXPECT_EQ(t.State(1), TrialState::kRunning);
        EXPECT_EQ(t.Trial(1).target, 3);
      } else if (overshoot == 4) {
        EXPECT_EQ(t.State(1), TrialState::kPaused);  // the first at the next rung waits there
      } else {
        EXPECT_EQ(t.State(1), TrialState::kComplete);
      }
    }
  }
}

TEST(EngineAshaTest, PromotedOnTheWayOutItComesBackWhateverTheWayOutWas) {
  TestEngine t(kPromotion, NodeOf(4 * kWhole));
  t.Propose(3);
  t.Report(1, 1, 0.1);
  t.Report(2, 1, 0.2);
  t.Report(3, 1, 0.3);
  t.End(3, Ending::kPaused);
  EXPECT_EQ(t.State(1), TrialState::kRunning);
  EXPECT_TRUE(t.Trial(1).leaving);
  EXPECT_THAT(t.End(1, Ending::kFailed, "killed by signal 15"), Contains("start 1.2 1..3"));
  EXPECT_EQ(t.Trial(1).failures, 0U);
}

TEST(EngineAshaTest, ADrainedTrialIsStillJudged) {
  TestEngine t(kAsha);
  t.Propose(2);
  t.Report(1, 1, 0.1);
  t.Drain();
  EXPECT_THAT(t.Report(2, 1, 0.9), ElementsAre("stop 2.1 stopped"));
  EXPECT_THAT(t.Report(1, 3, 0.1), IsEmpty());  // it is promoted, but does not go on now
  EXPECT_EQ(t.Trial(1).target, 9);
  t.End(2, Ending::kPaused);
  EXPECT_EQ(t.State(2), TrialState::kStopped);
  t.End(1, Ending::kPaused);
  EXPECT_THAT(t.Restart(), Contains("start 1.2 3..9"));
}

TEST(EngineAshaTest, AProgramThatEndsByItselfIsComplete) {
  TestEngine t(kAsha);
  t.Propose(2);
  EXPECT_THAT(t.Report(1, 1, 0.1), ElementsAre("budget 1.1 3"));
  EXPECT_THAT(t.Report(1, 3, 0.1), ElementsAre("budget 1.1 9"));
  t.Report(1, 5, 0.1);
  t.End(1);
  EXPECT_EQ(t.State(1), TrialState::kComplete);
  EXPECT_EQ(t.Trial(1).work, 5);
}

TEST(EngineAshaTest, AProgramThatDidAsItWasToldAtItsStartGoesOn) {
  TestEngine t(kAsha);
  t.Propose(2);
  EXPECT_THAT(t.Report(1, 1, 0.1), ElementsAre("budget 1.1 3"));
  EXPECT_THAT(t.End(1), ElementsAre("start 1.2 1..3"));
}

TEST(EngineAshaTest, AProgramThatIsToldItsBudgetMayReportBeyondIt) {
  for (const char* told :
       {"program: train --epochs {budget}\n", "program: train\nenvironment: {N: '{budget}'}\n"}) {
    TestEngine t(std::string(kAsha) + told);
    t.Propose(2);
    EXPECT_THAT(t.Report(1, 2, 0.1), ElementsAre("budget 1.1 3"));
    EXPECT_THAT(t.End(1), ElementsAre("start 1.2 2..3"));
  }
}

// Under the old rules such a trial ran again, and that run is recorded. A replay must give the
// same.
TEST(EngineAshaTest, InAStudyOfBeforeAProgramThatEndsByItselfRunsAgain) {
  StudyCreated created{kStudy, "", "/", 1, SpecOf(kAsha), /*rules=*/1};
  auto engine = NewEngine();
  engine->Apply({At(0), created});
  engine->Apply({At(0), ControllerStarted{{NodeOf(1 * kWhole)}}});
  engine->Apply({At(0), Proposed{kStudy, 0, Point{0.5}}});
  const TrialKey key{kStudy, TrialId{1}};
  engine->Apply({At(1), Reported{.trial = key,
                                 .launch = LaunchId{1},
                                 .position = {.seq = 1},
                                 .work = 5,
                                 .metrics = {{"loss", 0.1}}}});
  EXPECT_THAT(Describe(engine->Apply({At(2), LaunchEnded{.trial = key,
                                                         .launch = LaunchId{1},
                                                         .position = {},
                                                         .ending = Ending::kDone,
                                                         .reason = ""}})),
              ElementsAre("start 1.2 5..9"));
}

// Trial 1 reported 0.1 and then, at the first rung, 0.9. Trial 2 reports 0.5 at that rung. Returns
// the commands that the report of trial 2 causes.
std::vector<std::string> SecondAtRung(StudyCreated created) {
  auto engine = NewEngine();
  engine->Apply({At(0), std::move(created)});
  engine->Apply({At(0), ControllerStarted{{NodeOf(2 * kWhole)}}});
  engine->Apply({At(0), Proposed{kStudy, 0, Point{0.5}}});
  engine->Apply({At(0), Proposed{kStudy, 1, Point{0.6}}});
  std::vector<std::string> last;
  const auto report = [&](std::uint32_t trial, std::uint64_t seq, Work work, double loss) {
    last = Describe(engine->Apply({At(1), Reported{.trial = {kStudy, TrialId{trial}},
                                                   .launch = LaunchId{1},
                                                   .position = {.seq = seq},
                                                   .work = work,
                                                   .metrics = {{"loss", loss}}}}));
  };
  report(1, 1, 1, 0.1);
  report(1, 2, 2, 0.9);
  report(2, 1, 2, 0.5);
  return last;
}

TEST(EngineAshaTest, AtARungAResultSoFarIsCompared) {
  constexpr const char* kFromTwo = "trials: 9\nstopper: asha\nbudget: {min: 2, max: 9, eta: 2}\n";
  const StudyCreated best{kStudy, "", "/", 1, SpecOf(kFromTwo)};
  EXPECT_THAT(SecondAtRung(best), ElementsAre("stop 2.1 stopped"));
  const StudyCreated last{
      kStudy, "", "/", 1,
      SpecOf(std::string(kFromTwo) + "objective: {minimize: loss, of: last}\n")};
  EXPECT_THAT(SecondAtRung(last), ElementsAre("budget 2.1 4"));
  // Under rules 2, the value at the rung was compared.
  const StudyCreated before{kStudy, "", "/", 1, SpecOf(kFromTwo), /*rules=*/2};
  EXPECT_THAT(SecondAtRung(before), ElementsAre("budget 2.1 4"));
}

TEST(EngineAshaTest, AMissingMetricIsTheWorst) {
  TestEngine t(kAsha);
  t.Propose(2);
  t.Report(1, 1, 100);
  EXPECT_THAT(t.Report(2, 1, Metrics{{"other", 0.0}}), ElementsAre("stop 2.1 stopped"));
}

}  // namespace
}  // namespace sluice
