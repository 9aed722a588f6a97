#include "search/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "search/test_history.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

// The best by the definition, from all reports of the trial.
bool OracleStops(const StopperSpec& spec, const std::vector<RecordedReport>& reports) {
  Work best_work = 0;
  double best = kNan;
  bool improved = false;
  for (const RecordedReport& report : reports) {
    improved =
        !std::isnan(report.value) && (std::isnan(best) || report.value + spec.min_delta < best);
    if (!improved) continue;
    best = report.value;
    best_work = report.work;
  }
  const Work work = reports.back().work;
  return !improved && work >= spec.min_budget && work < spec.max_budget &&
         work >= best_work + spec.patience;
}

TEST(PatienceTest, RulesLikeTheOracleOverRandomHistories) {
  int stops = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random = Random(seed).Fork("patience");
    const StopperSpec spec = AnySpec(random, "patience");
    Patience patience(spec);
    std::map<TrialId, std::vector<RecordedReport>> reports;
    std::set<TrialId> over;
    for (std::uint32_t id = 1; id <= 4; ++id) patience.Admit(TrialId(id));
    for (int step = 0; step < 60; ++step) {
      const auto trial = TrialId(1 + static_cast<std::uint32_t>(random.Below(4)));
      if (random.Chance(0.02)) {
        patience.End(trial, random.Chance(0.5));
        over.insert(trial);
        continue;
      }
      const Work before = reports[trial].empty() ? 0 : reports[trial].back().work;
      reports[trial].push_back(
          {trial, before + 1 + static_cast<Work>(random.Below(3)), AnyLoss(random)});
      const RecordedReport& report = reports[trial].back();
      const bool stops_here = !over.contains(trial) && OracleStops(spec, reports[trial]);
      ASSERT_EQ(!patience.Report(trial, report.work, report.value).empty(), stops_here)
          << "seed " << seed << " step " << step;
      if (stops_here || report.work >= spec.max_budget) over.insert(trial);
      stops += stops_here ? 1 : 0;
    }
  }
  EXPECT_GT(stops, 3000);
}

}  // namespace
}  // namespace sluice
