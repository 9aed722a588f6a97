#include "search/rungs/rungs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Work> RungLevels(Work min_budget, Work max_budget, std::int64_t eta) {
  const Rungs rungs({.min_budget = min_budget, .max_budget = max_budget, .eta = eta});
  std::vector<Work> levels;
  for (std::size_t k = 0; k < rungs.size(); ++k) levels.push_back(rungs.Target(k));
  EXPECT_EQ(rungs.Target(rungs.size()), max_budget);
  return levels;
}

// log3(243) and log10(1000) come out below 5 and 3 in floating point.
TEST(RungsTest, ExactPowersKeepTheirLastRung) {
  EXPECT_THAT(RungLevels(1, 243, 3), ElementsAre(1, 3, 9, 27, 81));
  EXPECT_THAT(RungLevels(1, 1000, 10), ElementsAre(1, 10, 100));
}

TEST(RungsTest, TheFullBudgetNeedsNoPower) {
  EXPECT_THAT(RungLevels(2, 200, 4), ElementsAre(2, 8, 32, 128));
  EXPECT_THAT(RungLevels(1, 244, 3), ElementsAre(1, 3, 9, 27, 81, 243));
}

TEST(RungsTest, OneBudgetHasNoRungs) {
  EXPECT_THAT(RungLevels(5, 5, 3), IsEmpty());
  EXPECT_THAT(RungLevels(5, 6, 3), ElementsAre(5));
}

TEST(RungsTest, LargeNumbersDoNotOverflow) {
  EXPECT_EQ(RungLevels(1, INT64_MAX - 1, 2).size(), 63u);
  EXPECT_THAT(RungLevels(INT64_MAX / 2, INT64_MAX - 1, INT64_MAX), ElementsAre(INT64_MAX / 2));
  EXPECT_THAT(RungLevels(1, INT64_MAX - 1, INT64_MAX - 1), ElementsAre(1));
}

TEST(RungsTest, PassedCountsRungsAtOrBelow) {
  const Rungs rungs({.min_budget = 1, .max_budget = 27, .eta = 3});
  EXPECT_EQ(rungs.Passed(0), 0u);
  EXPECT_EQ(rungs.Passed(1), 1u);
  EXPECT_EQ(rungs.Passed(8), 2u);
  EXPECT_EQ(rungs.Passed(9), 3u);
  EXPECT_EQ(rungs.Passed(INT64_MAX), 3u);
}

}  // namespace
}  // namespace sluice
