#include "search/percentile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "search/test_history.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Ruling Stop(std::uint32_t trial) { return {TrialId(trial), Verdict::kStop}; }

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
  EXPECT_TRUE(Stops(median, 5, kInf));
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
  EXPECT_THAT(median.Report(TrialId(2), 3, 100), IsEmpty());  // nobody was there
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
  median.End(TrialId(2), /*failed=*/false);                 // and told again when it leaves
  EXPECT_FALSE(Stops(median, 5, 9));
  median.End(TrialId(3), /*failed=*/false);
  EXPECT_TRUE(Stops(median, 5, 9));
}

// Nothing here can be computed by arithmetic on infinities.
TEST(PercentileTest, BesideAnInfiniteValueTheBarIsTheWorseOne) {
  EXPECT_FALSE(Stops(MakePercentile({.startup = 2}, {1, kInf}), 3, kInf));
  EXPECT_TRUE(Stops(MakePercentile({.startup = 2}, {1, kInf}), 3, kNan));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 2}, {-kInf, 1}), 3, 1));
  EXPECT_TRUE(Stops(MakePercentile({.startup = 2}, {-kInf, 1}), 3, 1.1));
  EXPECT_FALSE(Stops(MakePercentile({.startup = 2}, {-kInf, kInf}), 3, kInf));
}

// Everything from the whole history, by sorting.
class Oracle {
 public:
  explicit Oracle(const StopperSpec& spec) : spec_(spec) {}

  void End(TrialId trial, bool failed) {
    if (over_.contains(trial)) return;
    over_.insert(trial);
    if (!failed) complete_.insert(trial);
  }

  bool Stops(const RecordedReport& report) {
    if (over_.contains(report.trial)) return false;
    reports_.push_back(report);
    if (report.work >= spec_.max_budget) {
      End(report.trial, false);
      return false;
    }
    if (report.work < spec_.min_budget) return false;
    if (static_cast<std::int64_t>(complete_.size()) < spec_.startup) return false;
    double best = kNan;
    std::vector<double> others;
    for (const RecordedReport& other : reports_) {
      if (std::isnan(other.value)) continue;
      if (other.trial == report.trial)
        best = std::isnan(best) ? other.value : std::min(best, other.value);
      if (complete_.contains(other.trial) && other.work == report.work)
        others.push_back(other.value);
    }
    if (others.empty() || static_cast<std::int64_t>(others.size()) < spec_.min_trials) return false;
    std::ranges::sort(others);
    if (!std::isnan(best) && !IsBeyond(best, others)) return false;
    over_.insert(report.trial);
    return true;
  }

 private:
  // Whether a value lies beyond the percentile, which AnySpec gives in quarters of a per cent: in
  // whole numbers where the values are.
  bool IsBeyond(double value, const std::vector<double>& sorted) const {
    const auto place = (sorted.size() - 1) * static_cast<std::size_t>(spec_.percentile * 4);
    const double low = sorted[place / 400];
    const auto part = static_cast<double>(place % 400);
    if (part == 0) return value > low;
    const double high = sorted[place / 400 + 1];
    if (std::isinf(low) || std::isinf(high) || std::isinf(value)) return value > high;
    return (value - low) * 400 > part * (high - low);
  }

  StopperSpec spec_;
  std::vector<RecordedReport> reports_;
  std::set<TrialId> complete_;
  std::set<TrialId> over_;
};

TEST(PercentileTest, RulesLikeTheOracleOverRandomHistories) {
  int stops = 0;
  int spared = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random = Random(seed).Fork("percentile");
    StopperSpec spec = AnySpec(random, "percentile");
    if (random.Chance(0.3)) spec.max_budget = kNoLimit;
    Percentile percentile(spec);
    Oracle oracle(spec);
    std::vector<Work> work;
    for (int step = 0; step < 100; ++step) {
      if (work.empty() || (work.size() < 20 && random.Chance(0.2))) {
        work.push_back(0);
        ASSERT_EQ(percentile.Admit(static_cast<TrialId>(work.size())), spec.max_budget);
      }
      const std::size_t index = random.Below(work.size());
      const auto trial = static_cast<TrialId>(index + 1);
      if (random.Chance(0.1)) {
        const bool failed = random.Chance(0.3);
        percentile.End(trial, failed);
        oracle.End(trial, failed);
        continue;
      }
      work[index] += static_cast<Work>(1 + random.Below(2));
      // A value beside the middle of two others would be at the mercy of rounding.
      const double value =
          random.Chance(0.1) ? AnyLoss(random) : static_cast<double>(random.Below(5));
      const RecordedReport report = {trial, work[index], value};
      const std::vector<Ruling> rulings = percentile.Report(trial, report.work, report.value);
      const bool stopped = oracle.Stops(report);
      std::vector<Ruling> expected;
      if (stopped) expected.push_back({trial, Verdict::kStop});
      ASSERT_EQ(rulings, expected) << "seed " << seed << " step " << step;
      (stopped ? stops : spared)++;
    }
  }
  EXPECT_GT(stops, 3000);
  EXPECT_GT(spared, 3000);
}

}  // namespace
}  // namespace sluice
