#include "search/stoppers/percentile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "search/stoppers/test_rulings.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Trials 1, 2, ... that are complete, each with one value at work 1.
Percentile MakePercentile(const StopperSpec& spec, const std::vector<double>& values) {
  Percentile percentile(spec);
  std::uint32_t id = 0;
  for (const double value : values) {
    percentile.Admit(TrialId(++id));
    percentile.Report(TrialId(id), 1, value);
    EXPECT_THAT(percentile.End(TrialId(id), /*failed=*/false), IsEmpty());
  }
  return percentile;
}

bool Stops(Percentile stopper, std::uint32_t trial, double value) {
  stopper.Admit(TrialId(trial));
  return !stopper.Report(TrialId(trial), 1, value).empty();
}

TEST(PercentileTest, WorseThanTheMedianStops) {
  const Percentile median = MakePercentile({.percentile = 50, .startup = 4}, {1, 2, 3, 4});
  EXPECT_FALSE(Stops(median, 5, 2.5));  // as good as the median
  EXPECT_TRUE(Stops(median, 5, 2.6));
  EXPECT_TRUE(Stops(median, 5, kNan));
  EXPECT_TRUE(Stops(median, 5, kInfinity));
}

TEST(PercentileTest, KeepsTheBestPart) {
  const std::vector<double> values = {5, 1, 4, 2, 3};
  EXPECT_FALSE(Stops(MakePercentile({.percentile = 25}, values), 6, 2));
  EXPECT_TRUE(Stops(MakePercentile({.percentile = 25}, values), 6, 2.1));
  EXPECT_FALSE(Stops(MakePercentile({.percentile = 0}, values), 6, 1));
  EXPECT_TRUE(Stops(MakePercentile({.percentile = 0}, values), 6, 1.1));
  EXPECT_FALSE(Stops(MakePercentile({.percentile = 100}, values), 6, 5));
  EXPECT_TRUE(Stops(MakePercentile({.percentile = 100}, values), 6, 5.1));
  EXPECT_FALSE(Stops(MakePercentile({.percentile = 30}, values), 6, 2.2));
  EXPECT_TRUE(Stops(MakePercentile({.percentile = 30}, values), 6, 2.21));
}

TEST(PercentileTest, WaitsForEnoughToCompareWith) {
  EXPECT_FALSE(Stops(MakePercentile({.startup = 5}, {1, 1, 1, 1}), 5, 9));
  EXPECT_TRUE(Stops(MakePercentile({.startup = 5}, {1, 1, 1, 1, 1}), 6, 9));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 0, .min_trials = 3}, {1, 1}), 3, 9));
  EXPECT_TRUE(Stops(MakePercentile({.startup = 0, .min_trials = 3}, {1, 1, 1}), 4, 9));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 0}, {}), 1, kNan));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 1}, {kNan}), 2, 9));  // nothing to compare with
  EXPECT_FALSE(Stops(MakePercentile({.min_budget = 2, .startup = 1}, {1}), 2, 9));
}

TEST(PercentileTest, ComparesTheBestSoFarWithValuesAtTheSameWork) {
  Percentile median({.percentile = 50, .startup = 1});
  median.Admit(TrialId(1));
  median.Report(TrialId(1), 1, 5);
  median.Report(TrialId(1), 2, 9);
  median.Report(TrialId(1), 4, 3);
  median.End(TrialId(1), false);
  median.Admit(TrialId(2));
  EXPECT_THAT(median.Report(TrialId(2), 1, 4), IsEmpty());
  EXPECT_THAT(median.Report(TrialId(2), 2, 100), IsEmpty());  // 4 was better than 9
  EXPECT_THAT(median.Report(TrialId(2), 3, 100), IsEmpty());  // no trial reported at 3
  EXPECT_THAT(median.Report(TrialId(2), 4, 100), ElementsAre(Stop(2)));
  EXPECT_THAT(median.Report(TrialId(2), 5, 0), IsEmpty());  // over
}

TEST(PercentileTest, OnlyCompleteTrialsCountAndEachOnce) {
  Percentile median({.max_budget = 3, .percentile = 50, .startup = 2});
  for (const std::uint32_t id : {1, 2, 3, 4}) {
    EXPECT_EQ(median.Admit(TrialId(id)), 3);
    EXPECT_THAT(median.Report(TrialId(id), 1, 1), IsEmpty());
  }
  median.End(TrialId(1), /*failed=*/true);
  EXPECT_THAT(median.Report(TrialId(2), 3, 1), IsEmpty());  // complete at the full budget,
  median.End(TrialId(2), /*failed=*/false);                 // and then its launch ends
  EXPECT_FALSE(Stops(median, 5, 9));
  median.End(TrialId(3), /*failed=*/false);
  EXPECT_TRUE(Stops(median, 5, 9));
}

// Interpolating between infinite values would give NaN.
TEST(PercentileTest, BesideAnInfiniteValueTheBarIsTheWorseOne) {
  EXPECT_FALSE(Stops(MakePercentile({.startup = 2}, {1, kInfinity}), 3, kInfinity));
  EXPECT_TRUE(Stops(MakePercentile({.startup = 2}, {1, kInfinity}), 3, kNan));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 2}, {-kInfinity, 1}), 3, 1));
  EXPECT_TRUE(Stops(MakePercentile({.startup = 2}, {-kInfinity, 1}), 3, 1.1));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 2}, {-kInfinity, kInfinity}), 3, kInfinity));
}

}  // namespace
}  // namespace sluice
