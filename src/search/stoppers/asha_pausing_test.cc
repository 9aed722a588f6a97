#include "search/stoppers/asha_pausing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "search/stoppers/test_rulings.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Rungs at 2 and 8.
AshaPausing MakeAshaPausing(int trials) {
  AshaPausing asha({.name = "asha-pausing", .min_budget = 2, .max_budget = 32, .eta = 4});
  for (int id = 1; id <= trials; ++id) EXPECT_EQ(asha.Admit(TrialId(id)), 32);
  return asha;
}

TEST(AshaPausingTest, TheFirstTwoAtARungGoOn) {
  AshaPausing asha = MakeAshaPausing(3);
  EXPECT_THAT(asha.Report(TrialId(1), 2, 5), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(2), 2, 9), IsEmpty());  // one value judges no trial
  // The lower quartile of 5 and 9 is 6.
  EXPECT_THAT(asha.Report(TrialId(3), 2, 6), IsEmpty());
}

TEST(AshaPausingTest, ANewcomerIsComparedWithThoseThatWereThere) {
  AshaPausing asha = MakeAshaPausing(3);
  asha.Report(TrialId(1), 2, 5);
  asha.Report(TrialId(2), 2, 9);
  EXPECT_THAT(asha.Report(TrialId(3), 2, 6.01), ElementsAre(Pause(3)));
}

TEST(AshaPausingTest, EveryReportLooksBack) {
  AshaPausing asha = MakeAshaPausing(2);
  asha.Report(TrialId(2), 2, 9);
  asha.Report(TrialId(1), 2, 5);
  // At its next report trial 2 still has the same value at the rung, but now there is a better one.
  EXPECT_THAT(asha.Report(TrialId(2), 3, 1), ElementsAre(Pause(2)));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 99), IsEmpty());
}

TEST(AshaPausingTest, WhoIsNoLongerWorseIsResumed) {
  AshaPausing asha = MakeAshaPausing(8);
  asha.Report(TrialId(1), 2, 1);
  asha.Report(TrialId(2), 2, 9);
  EXPECT_THAT(asha.Report(TrialId(3), 2, 5), ElementsAre(Pause(3)));
  EXPECT_FALSE(asha.Ready());
  EXPECT_THAT(NextOf(asha), IsEmpty());
  // The lower quartile of 1, 5, 9 and five times 20 is 8.
  for (std::uint32_t id = 4; id <= 8; ++id) {
    EXPECT_THAT(asha.Report(TrialId(id), 2, 20), ElementsAre(Pause(id)));
  }
  EXPECT_TRUE(asha.Ready());
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(3), 32}));
  EXPECT_THAT(NextOf(asha), IsEmpty());
  EXPECT_FALSE(asha.Ready());
}

TEST(AshaPausingTest, TheHighestRungComesFirstThenTheBest) {
  AshaPausing asha = MakeAshaPausing(20);
  for (const std::uint32_t id : {1, 2, 3}) asha.Report(TrialId(id), 2, id);
  EXPECT_THAT(asha.Report(TrialId(2), 8, 7), ElementsAre(Pause(2)));
  EXPECT_THAT(asha.Report(TrialId(3), 3, 7), ElementsAre(Pause(3)));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 7), IsEmpty());
  for (std::uint32_t id = 4; id <= 20; ++id) asha.Report(TrialId(id), 2, 50);
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(2), 32}));
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(3), 32}));
}

TEST(AshaPausingTest, AReportThatPassesSeveralRungsIsRecordedAtEach) {
  AshaPausing asha = MakeAshaPausing(3);
  asha.Report(TrialId(1), 8, 1);
  asha.Report(TrialId(2), 8, 2);
  EXPECT_THAT(asha.Report(TrialId(3), 9, 1.5), ElementsAre(Pause(3)));
}

TEST(AshaPausingTest, OneThatGoesOnWhileItIsToPauseMayComeBack) {
  AshaPausing asha = MakeAshaPausing(5);
  asha.Report(TrialId(1), 2, 1);
  asha.Report(TrialId(2), 2, 2);
  EXPECT_THAT(asha.Report(TrialId(2), 3, 2), ElementsAre(Pause(2)));
  EXPECT_THAT(asha.Report(TrialId(2), 4, 2), ElementsAre(Pause(2)));
  for (std::uint32_t id = 3; id <= 5; ++id) asha.Report(TrialId(id), 2, 50);
  EXPECT_THAT(asha.Report(TrialId(2), 5, 2), ElementsAre(GoOn(2, 32)));
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPausingTest, NanStopsAtARungAndCountsAsTheWorst) {
  AshaPausing asha = MakeAshaPausing(4);
  EXPECT_THAT(asha.Report(TrialId(1), 1, kNan), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(1), 2, kNan), ElementsAre(Stop(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 0), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(2), 2, 7), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(3), 2, 1e300), IsEmpty());  // no finite value is worse than NaN
}

TEST(AshaPausingTest, TheFullBudgetIsTheEnd) {
  AshaPausing asha = MakeAshaPausing(3);
  asha.Report(TrialId(1), 8, 1);
  asha.Report(TrialId(2), 8, 2);
  asha.Report(TrialId(3), 8, 3);
  EXPECT_THAT(asha.Report(TrialId(3), 32, 3), IsEmpty());
  EXPECT_THAT(asha.End(TrialId(3), false), IsEmpty());
}

}  // namespace
}  // namespace sluice
