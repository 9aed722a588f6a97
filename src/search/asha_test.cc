#include "search/asha.h"

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

Ruling GoOn(std::uint32_t trial, Work target) { return {TrialId(trial), Verdict::kGoOn, target}; }
Ruling Stop(std::uint32_t trial) { return {TrialId(trial), Verdict::kStop}; }

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
  // Best of the second rung, but not of the first.
  EXPECT_THAT(asha.Report(TrialId(2), 4, 2), ElementsAre(Stop(2)));
  // Beaten at the second by what trial 2 left there.
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

std::vector<Ruling> OracleReport(ReportHistory& history, std::set<TrialId>& ended,
                                 const RecordedReport& report) {
  if (ended.contains(report.trial)) return {};
  const std::vector<std::size_t> reached = history.Add(report);
  if (reached.empty() || report.work >= history.spec().max_budget) return {};
  bool goes_on = !std::isnan(report.value);
  for (const std::size_t rung : reached) {
    const std::vector<RecordedReport> ranked = history.Ranked(rung);
    const std::size_t top =
        std::max<std::size_t>(1, ranked.size() / static_cast<std::size_t>(history.spec().eta));
    const auto place = std::ranges::find(ranked, report.trial, &RecordedReport::trial);
    goes_on = goes_on && static_cast<std::size_t>(place - ranked.begin()) < top;
  }
  if (goes_on) return {{report.trial, Verdict::kGoOn, history.TargetAfter(report.work)}};
  ended.insert(report.trial);
  return {{report.trial, Verdict::kStop}};
}

TEST(AshaTest, RulesLikeTheOracleOverRandomHistories) {
  int stops = 0;
  int go_ons = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random = Random(seed).Fork("asha");
    const StopperSpec spec = AnySpec(random, "asha");
    Asha asha(spec);
    ReportHistory history(spec);
    std::set<TrialId> ended;
    std::vector<Work> work;
    for (int step = 0; step < 80; ++step) {
      if (work.empty() || (work.size() < 30 && random.Chance(0.3))) {
        work.push_back(0);
        const auto admitted = static_cast<TrialId>(work.size());
        ASSERT_EQ(asha.Admit(admitted), history.TargetAfter(0));
      }
      const std::size_t index = random.Below(work.size());
      const auto trial = static_cast<TrialId>(index + 1);
      if (random.Chance(0.03)) {
        asha.End(trial, random.Chance(0.5));
        ended.insert(trial);
        continue;
      }
      work[index] = AnyNextWork(random, work[index], history.TargetAfter(work[index]));
      const RecordedReport report = {trial, work[index], AnyLoss(random)};
      const std::vector<Ruling> rulings = asha.Report(trial, report.work, report.value);
      ASSERT_EQ(rulings, OracleReport(history, ended, report))
          << "seed " << seed << " step " << step;
      for (const Ruling& ruling : rulings) (ruling.verdict == Verdict::kStop ? stops : go_ons)++;
      ASSERT_FALSE(asha.Next());
    }
  }
  EXPECT_GT(stops, 10'000);
  EXPECT_GT(go_ons, 10'000);
}

}  // namespace
}  // namespace sluice
