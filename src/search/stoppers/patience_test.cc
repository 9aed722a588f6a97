#include "search/stoppers/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Patience MakePatience(const StopperSpec& spec) {
  Patience patience(spec);
  EXPECT_EQ(patience.Admit(TrialId(1)), spec.max_budget);
  return patience;
}

// The work at which trial 1 is stopped, reporting these values at 1, 2, 3, ...; 0: never.
Work StoppedAt(const StopperSpec& spec, const std::vector<double>& values) {
  Patience patience = MakePatience(spec);
  Work work = 0;
  for (const double value : values) {
    if (!patience.Report(TrialId(1), ++work, value).empty()) return work;
  }
  return 0;
}

TEST(PatienceTest, CountsWorkSinceTheBest) {
  EXPECT_EQ(StoppedAt({.patience = 3}, {5, 4, 4, 4, 4, 4}), 5);
  EXPECT_EQ(StoppedAt({.patience = 3}, {5, 4, 6, 6, 3, 3, 3, 3}), 8);
  EXPECT_EQ(StoppedAt({.patience = 3}, {8, 7, 6, 5, 4, 3, 2, 1}), 0);
  Patience patience = MakePatience({.patience = 100});
  patience.Report(TrialId(1), 50, 1);
  EXPECT_THAT(patience.Report(TrialId(1), 149, 1), IsEmpty());
  EXPECT_THAT(patience.Report(TrialId(1), 151, 1), ElementsAre(Ruling{TrialId(1), Verdict::kStop}));
  EXPECT_THAT(patience.Report(TrialId(1), 152, 1), IsEmpty());  // over
}

TEST(PatienceTest, SmallStepsAreNoImprovement) {
  EXPECT_EQ(StoppedAt({.patience = 2, .min_delta = 1}, {5, 4.5, 4}), 3);
  EXPECT_EQ(StoppedAt({.patience = 2, .min_delta = 1}, {5, 4.5, 3.9, 3.5}), 0);
}

TEST(PatienceTest, NanIsNoImprovementAndNothingElseIsNone) {
  EXPECT_EQ(StoppedAt({.patience = 3}, {kNan, kNan, kNan}), 3);
  EXPECT_EQ(StoppedAt({.patience = 3}, {kNan, kNan, 9, kNan, kNan, kNan}), 6);
}

TEST(PatienceTest, NothingIsStoppedBeforeTheMinimumOrAtTheFullBudget) {
  EXPECT_EQ(StoppedAt({.min_budget = 6, .patience = 2}, {5, 5, 5, 5, 5, 5}), 6);
  EXPECT_EQ(StoppedAt({.max_budget = 4, .patience = 3}, {5, 5, 5, 5}), 0);
}

}  // namespace
}  // namespace sluice
