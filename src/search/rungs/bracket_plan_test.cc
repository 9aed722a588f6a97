#include "search/rungs/bracket_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BracketPlanTest, OneOfABracketReachesTheFullBudget) {
  const auto plans = PlanBrackets({.name = "sha", .min_budget = 1, .max_budget = 243, .eta = 3});
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_THAT(plans[0].levels, ElementsAre(1, 3, 9, 27, 81));  // log3(243) is 5
  EXPECT_EQ(plans[0].trials, 243);
  EXPECT_THAT(PlacesOf(243, 3, 5), ElementsAre(81, 27, 9, 3, 1));
}

TEST(BracketPlanTest, ABracketMayBeOfAnySize) {
  const auto plans = PlanBrackets({.name = "sha", .max_budget = 27, .bracket = 10});
  EXPECT_EQ(plans[0].trials, 10);
  EXPECT_THAT(PlacesOf(10, 3, 3), ElementsAre(3, 1, 1));
  EXPECT_THAT(PlacesOf(1, 3, 2), ElementsAre(1, 1));
}

// The table of the paper: 81 as the full budget, 3 as the reduction factor.
TEST(BracketPlanTest, HyperbandIsThatOfThePaper) {
  const auto plans = PlanBrackets({.name = "hyperband", .max_budget = 81, .eta = 3});
  ASSERT_EQ(plans.size(), 5u);
  std::vector<std::int64_t> trials;
  for (const BracketPlan& plan : plans) trials.push_back(plan.trials);
  EXPECT_THAT(trials, ElementsAre(81, 34, 15, 8, 5));
  EXPECT_THAT(plans[0].levels, ElementsAre(1, 3, 9, 27));
  EXPECT_THAT(plans[1].levels, ElementsAre(3, 9, 27));
  EXPECT_THAT(plans[3].levels, ElementsAre(27));
  EXPECT_THAT(plans[4].levels, IsEmpty());
  EXPECT_THAT(PlacesOf(34, 3, 3), ElementsAre(11, 3, 1));
}

TEST(BracketPlanTest, MostTrialsDoLittleOfTheFullBudget) {
  const StopperSpec spec{.name = "asha", .min_budget = 1, .max_budget = 27, .eta = 3};
  EXPECT_DOUBLE_EQ(TypicalWork(spec), 1 + 2.0 / 3 + 6.0 / 9 + 18.0 / 27);
  StopperSpec other = spec;
  other.name = "hyperband";  // 27, 12, 6 and 4 trials: later brackets begin at a higher level
  EXPECT_DOUBLE_EQ(TypicalWork(other), (27 * 3.0 + 12 * 7.0 + 6 * 15.0 + 4 * 27.0) / 49);
  other.name = "median";
  EXPECT_EQ(TypicalWork(other), 27);
}

TEST(BracketPlanTest, HyperbandLosesNoBracketToRounding) {
  for (const auto& [max_budget, eta, brackets] :
       {std::tuple<Work, std::int64_t, std::size_t>{243, 3, 6}, {1000, 10, 4}, {242, 3, 5}}) {
    EXPECT_EQ(PlanBrackets({.name = "hyperband", .max_budget = max_budget, .eta = eta}).size(),
              brackets);
  }
}

TEST(BracketPlanTest, BudgetsThatAreNoPowersRoundDownAndStayAboveTheMinimum) {
  const auto plans =
      PlanBrackets({.name = "hyperband", .min_budget = 2, .max_budget = 100, .eta = 4});
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_THAT(plans[0].levels, ElementsAre(6, 25));
  EXPECT_EQ(plans[0].trials, 16);
  EXPECT_THAT(plans[1].levels, ElementsAre(25));
  EXPECT_EQ(plans[1].trials, 6);
  EXPECT_EQ(plans[2].trials, 3);
}

TEST(BracketPlanTest, LargeNumbersDoNotOverflow) {
  for (const char* name : {"sha", "hyperband"}) {
    for (const std::int64_t eta : {std::int64_t{2}, INT64_MAX - 1}) {
      for (const auto& plan :
           PlanBrackets({.name = name, .max_budget = INT64_MAX - 1, .eta = eta})) {
        EXPECT_GE(plan.trials, 1);
        EXPECT_LE(plan.levels.size(), 63u);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
