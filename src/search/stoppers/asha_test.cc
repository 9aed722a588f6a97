#include "search/stoppers/asha.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/test_numbers.h"
#include "search/stoppers/test_rulings.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Asha MakeAsha(int trials, Work max_budget = 9, std::int64_t eta = 3) {
  Asha asha({.name = "asha", .min_budget = 1, .max_budget = max_budget, .eta = eta});
  for (int id = 1; id <= trials; ++id) EXPECT_EQ(asha.Admit(TrialId(id)), 1);
  return asha;
}

TEST(AshaTest, OnlyTheBestSoFarGoesOnAmongFewerThanEta) {
  Asha asha = MakeAsha(4);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 5), ElementsAre(GoOn(1, 3)));
  EXPECT_THAT(asha.Report(TrialId(2), 1, 6), ElementsAre(Stop(2)));
  EXPECT_THAT(asha.Report(TrialId(3), 1, 4), ElementsAre(GoOn(3, 3)));
  EXPECT_THAT(asha.Report(TrialId(4), 1, 5), ElementsAre(Stop(4)));
}

TEST(AshaTest, TheTopThirdGoesOn) {
  Asha asha = MakeAsha(6);
  for (std::uint32_t id = 1; id <= 5; ++id) asha.Report(TrialId(id), 1, id);
  EXPECT_THAT(asha.Report(TrialId(6), 1, 1.5), ElementsAre(GoOn(6, 3)));  // second of six
}

TEST(AshaTest, TiesGoToTheSmallerId) {
  Asha later_first = MakeAsha(2);
  EXPECT_THAT(later_first.Report(TrialId(2), 1, 5), ElementsAre(GoOn(2, 3)));
  EXPECT_THAT(later_first.Report(TrialId(1), 1, 5), ElementsAre(GoOn(1, 3)));
  Asha in_order = MakeAsha(2);
  EXPECT_THAT(in_order.Report(TrialId(1), 1, 5), ElementsAre(GoOn(1, 3)));
  EXPECT_THAT(in_order.Report(TrialId(2), 1, 5), ElementsAre(Stop(2)));
}

TEST(AshaTest, NanIsStoppedEvenAlone) {
  Asha asha = MakeAsha(2);
  EXPECT_THAT(asha.Report(TrialId(1), 1, kNan), ElementsAre(Stop(1)));
  EXPECT_THAT(asha.Report(TrialId(2), 1, std::numeric_limits<double>::infinity()),
              ElementsAre(GoOn(2, 3)));
}

TEST(AshaTest, AReportPastSeveralRungsIsJudgedAtEach) {
  Asha asha = MakeAsha(3);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 1), ElementsAre(GoOn(1, 3)));
  // Trial 2 is the best at the second rung, but not at the first.
  EXPECT_THAT(asha.Report(TrialId(2), 4, 2), ElementsAre(Stop(2)));
  // Trial 2's value at the second rung is better.
  EXPECT_THAT(asha.Report(TrialId(1), 3, 3), ElementsAre(Stop(1)));
  EXPECT_THAT(asha.Report(TrialId(3), 5, 0), ElementsAre(GoOn(3, 9)));
}

TEST(AshaTest, NothingIsSaidBetweenRungsAndAtTheFullBudget) {
  Asha asha = MakeAsha(2);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 1), ElementsAre(GoOn(1, 3)));
  EXPECT_THAT(asha.Report(TrialId(1), 2, 100), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(1), 3, 1), ElementsAre(GoOn(1, 9)));
  EXPECT_THAT(asha.Report(TrialId(1), 9, 1), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(2), 9, kNan), IsEmpty());
}

TEST(AshaTest, StoppedAndEndedTrialsAreNotRuledUpon) {
  Asha asha = MakeAsha(2);
  EXPECT_THAT(asha.Report(TrialId(1), 1, kNan), ElementsAre(Stop(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 0), IsEmpty());
  asha.End(TrialId(2), true);
  EXPECT_THAT(asha.Report(TrialId(2), 1, 0), IsEmpty());
}

TEST(AshaDeathTest, StrangersAreABug) {
  Asha asha = MakeAsha(1);
  EXPECT_DEATH(asha.Report(TrialId(2), 1, 0), "admitted before it reports");
  EXPECT_DEATH(asha.Admit(TrialId(1)), "admitted once");
}

}  // namespace
}  // namespace sluice
