#include "search/stoppers/asha_promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "search/stoppers/test_rulings.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AshaPromotion MakeAshaPromotion(int trials, Work max_budget = 9, std::int64_t eta = 3) {
  AshaPromotion asha(
      {.name = "asha-promotion", .min_budget = 1, .max_budget = max_budget, .eta = eta});
  for (int id = 1; id <= trials; ++id) EXPECT_EQ(asha.Admit(TrialId(id)), 1);
  return asha;
}

TEST(AshaPromotionTest, TrialsWaitUntilTheyAreInTheTop) {
  AshaPromotion asha = MakeAshaPromotion(3);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(2), 1, 2), ElementsAre(Pause(2)));
  EXPECT_THAT(NextOf(asha), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(3), 1, 3), ElementsAre(Pause(3)));
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(1), 3}));
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, TheBestOfAFullRungIsPromotedAtOnce) {
  AshaPromotion asha = MakeAshaPromotion(3);
  asha.Report(TrialId(1), 1, 2);
  asha.Report(TrialId(2), 1, 3);
  EXPECT_THAT(asha.Report(TrialId(3), 1, 1), ElementsAre(GoOn(3, 3)));
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, TheHighestRungComesFirstThenTheBestValue) {
  AshaPromotion asha = MakeAshaPromotion(6, 9, 2);  // rungs 1, 2, 4, 8
  for (std::uint32_t id = 1; id <= 4; ++id) {
    EXPECT_THAT(asha.Report(TrialId(id), 1, id), ElementsAre(Pause(id)));
  }
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(1), 2}));
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(2), 2}));
  EXPECT_THAT(asha.Report(TrialId(1), 2, 5), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(2), 2, 6), ElementsAre(Pause(2)));
  EXPECT_THAT(asha.Report(TrialId(5), 1, 20), ElementsAre(Pause(5)));
  EXPECT_THAT(asha.Report(TrialId(6), 1, 21), ElementsAre(Pause(6)));
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(1), 4}));
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(3), 2}));
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, EndedTrialsKeepTheirRankAndAreNeverPromoted) {
  AshaPromotion asha = MakeAshaPromotion(6);
  for (std::uint32_t id = 1; id <= 3; ++id) asha.Report(TrialId(id), 1, id);
  asha.End(TrialId(1), true);
  EXPECT_THAT(NextOf(asha), IsEmpty());
  for (std::uint32_t id = 4; id <= 6; ++id) asha.Report(TrialId(id), 1, id);
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(2), 3}));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 0), IsEmpty());
}

// A trial with NaN could never be promoted. If it were paused, its checkpoint would be kept for
// nothing.
TEST(AshaPromotionTest, NanIsStopped) {
  AshaPromotion asha = MakeAshaPromotion(3);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_THAT(asha.Report(TrialId(id), 1, kNan), ElementsAre(Stop(id)));
  }
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, AReportPastSeveralRungsCountsAsPromotedInTheLower) {
  AshaPromotion asha = MakeAshaPromotion(3);
  EXPECT_THAT(asha.Report(TrialId(1), 4, 1), ElementsAre(Pause(1)));  // rungs 1 and 3
  asha.Report(TrialId(2), 1, 2);
  asha.Report(TrialId(3), 1, 3);
  EXPECT_THAT(NextOf(asha), IsEmpty());  // the one place at rung 1 is trial 1's, and is used
}

TEST(AshaPromotionTest, APausedTrialThatGoesOnAllTheSameIsToldAgain) {
  AshaPromotion asha = MakeAshaPromotion(1);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 2, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 9, 1), IsEmpty());
}

}  // namespace
}  // namespace sluice
