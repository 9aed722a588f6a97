#include "search/stoppers/halving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "search/stoppers/test_rulings.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Halving MakeSha(int trials, std::int64_t bracket = 9, Work max_budget = 9) {
  Halving sha({.name = "sha", .max_budget = max_budget, .eta = 3, .bracket = bracket});
  for (int id = 1; id <= trials; ++id) EXPECT_EQ(sha.Admit(TrialId(id)), 1);
  return sha;
}

TEST(HalvingTest, TheBestOfAFullRungGoOnAsAGroup) {
  Halving sha = MakeSha(9);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_THAT(sha.Report(TrialId(id), 1, 9 - id), ElementsAre(Pause(id)));
  }
  for (std::uint32_t id = 4; id <= 6; ++id) {
    EXPECT_THAT(sha.Report(TrialId(id), 1, 9 - id), ElementsAre(Pause(id), Stop(id - 3)));
  }
  EXPECT_THAT(NextOf(sha), IsEmpty());  // three trials may still beat them all
  EXPECT_THAT(sha.Report(TrialId(7), 1, 20), ElementsAre(Stop(7)));
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(6), 3}));  // third at worst
  EXPECT_THAT(sha.End(TrialId(8), /*failed=*/true), IsEmpty());
  EXPECT_THAT(sha.Report(TrialId(9), 1, kNan), ElementsAre(Stop(9)));
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(4), 3}, Advance{TrialId(5), 3}));
  EXPECT_THAT(NextOf(sha), IsEmpty());
  EXPECT_THAT(sha.Report(TrialId(4), 3, 1), ElementsAre(Pause(4)));
  EXPECT_THAT(sha.Report(TrialId(5), 3, 2), ElementsAre(Stop(5)));
  EXPECT_THAT(sha.Report(TrialId(6), 3, 0), ElementsAre(GoOn(6, 9), Stop(4)));
  EXPECT_THAT(sha.Report(TrialId(6), 9, 0), IsEmpty());
}

TEST(HalvingTest, TheLastOfARungGoesOnAtOnce) {
  Halving sha = MakeSha(3, 3, 3);
  sha.Report(TrialId(1), 1, 2);
  EXPECT_THAT(sha.Report(TrialId(2), 1, 3), ElementsAre(Stop(2)));
  EXPECT_THAT(sha.Report(TrialId(3), 1, 1), ElementsAre(GoOn(3, 3), Stop(1)));
}

TEST(HalvingTest, TiesGoToTheSmallerId) {
  Halving sha = MakeSha(3, 3, 3);
  EXPECT_THAT(sha.Report(TrialId(3), 1, 5), ElementsAre(Pause(3)));
  EXPECT_THAT(sha.Report(TrialId(2), 1, 5), ElementsAre(Pause(2), Stop(3)));
  EXPECT_THAT(sha.Report(TrialId(1), 1, 5), ElementsAre(GoOn(1, 3), Stop(2)));
}

TEST(HalvingTest, AFailureSettlesOthers) {
  Halving sha = MakeSha(3, 3, 3);
  sha.Report(TrialId(1), 1, 2);
  sha.Report(TrialId(2), 1, 3);
  EXPECT_THAT(NextOf(sha), IsEmpty());
  EXPECT_THAT(sha.End(TrialId(3), /*failed=*/true), IsEmpty());
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(1), 3}));
}

TEST(HalvingTest, WhoIsNotAdmittedYetIsWaitedFor) {
  Halving sha = MakeSha(2, 3, 3);
  sha.Report(TrialId(1), 1, 1);
  sha.Report(TrialId(2), 1, 2);
  EXPECT_THAT(NextOf(sha), IsEmpty());
  EXPECT_THAT(sha.Closed(), IsEmpty());
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(1), 3}));
}

TEST(HalvingTest, AClosedBracketHasThePlacesOfItsMembers) {
  Halving sha = MakeSha(7);  // a bracket of 9 has three places, and one of 7 has two
  for (std::uint32_t id = 1; id <= 7; ++id) sha.Report(TrialId(id), 1, id);
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(1), 3}));
  EXPECT_THAT(sha.Closed(), ElementsAre(Stop(3)));
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(2), 3}));
  EXPECT_THAT(sha.Closed(), IsEmpty());
}

TEST(HalvingTest, TrialsAfterTheClosingBeginANewBracket) {
  Halving sha = MakeSha(2, 3, 3);
  sha.Closed();
  EXPECT_THAT(sha.Report(TrialId(1), 1, 1), ElementsAre(Pause(1)));
  for (std::uint32_t id = 3; id <= 5; ++id) sha.Admit(TrialId(id));
  EXPECT_THAT(sha.Report(TrialId(2), 1, 2), ElementsAre(Stop(2)));
  EXPECT_THAT(sha.Report(TrialId(3), 1, 9), ElementsAre(Pause(3)));  // it is in another bracket
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(1), 3}));
}

TEST(HalvingTest, EndedTrialsKeepTheirPlace) {
  Halving sha = MakeSha(3, 3, 3);
  sha.Report(TrialId(1), 1, 1);
  sha.End(TrialId(1), /*failed=*/true);
  EXPECT_THAT(sha.Report(TrialId(2), 1, 2), ElementsAre(Stop(2)));
  EXPECT_THAT(sha.Report(TrialId(3), 1, 3), ElementsAre(Stop(3)));
  EXPECT_THAT(sha.Report(TrialId(1), 2, 0), IsEmpty());
}

TEST(HalvingTest, AReportPastSeveralRungsCountsAtEach) {
  Halving sha = MakeSha(9);
  EXPECT_THAT(sha.Report(TrialId(1), 4, 1), ElementsAre(Pause(1)));  // rungs 1 and 3
  for (std::uint32_t id = 2; id <= 9; ++id) sha.Report(TrialId(id), 1, id);
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(2), 3}, Advance{TrialId(3), 3}));
  EXPECT_THAT(sha.Report(TrialId(2), 3, 2), ElementsAre(Stop(2)));
  EXPECT_THAT(sha.Report(TrialId(3), 3, 3), ElementsAre(Stop(3)));
  EXPECT_THAT(NextOf(sha), ElementsAre(Advance{TrialId(1), 9}));
}

TEST(HalvingTest, APausedTrialThatGoesOnAllTheSameIsToldAgain) {
  Halving sha = MakeSha(3, 3, 9);
  EXPECT_THAT(sha.Report(TrialId(1), 1, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(sha.Report(TrialId(1), 2, 1), ElementsAre(Pause(1)));
  sha.End(TrialId(2), true);
  sha.End(TrialId(3), true);
  EXPECT_THAT(sha.Report(TrialId(1), 3, 1), ElementsAre(GoOn(1, 9)));  // alone by now
  EXPECT_THAT(NextOf(sha), IsEmpty());
}

TEST(HalvingTest, HyperbandFillsItsBracketsInTurn) {
  Halving hyperband({.name = "hyperband", .max_budget = 9, .eta = 3});  // 9, 5 and 3 trials
  std::vector<Work> first;
  for (std::uint32_t id = 1; id <= 18; ++id) first.push_back(hyperband.Admit(TrialId(id)));
  EXPECT_THAT(first, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 9, 9, 9, 1));
}

}  // namespace
}  // namespace sluice
