#include "search/asha_promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "search/test_history.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Ruling GoOn(std::uint32_t trial, Work target) { return {TrialId(trial), Verdict::kGoOn, target}; }
Ruling Pause(std::uint32_t trial) { return {TrialId(trial), Verdict::kPause}; }
Ruling Stop(std::uint32_t trial) { return {TrialId(trial), Verdict::kStop}; }

AshaPromotion MakeAsha(int trials, Work max_budget = 9, std::int64_t eta = 3) {
  AshaPromotion asha(
      {.name = "asha-promotion", .min_budget = 1, .max_budget = max_budget, .eta = eta});
  for (int id = 1; id <= trials; ++id) EXPECT_EQ(asha.Admit(TrialId(id)), 1);
  return asha;
}

std::vector<Advance> NextOf(AshaPromotion& asha) {
  const std::optional<TrialGroup> group = asha.Next();
  return group ? group->members : std::vector<Advance>{};
}

TEST(AshaPromotionTest, TrialsWaitUntilTheyAreInTheTop) {
  AshaPromotion asha = MakeAsha(3);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(2), 1, 2), ElementsAre(Pause(2)));
  EXPECT_THAT(NextOf(asha), IsEmpty());
  EXPECT_THAT(asha.Report(TrialId(3), 1, 3), ElementsAre(Pause(3)));
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(1), 3}));
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, TheBestOfAFullRungIsPromotedAtOnce) {
  AshaPromotion asha = MakeAsha(3);
  asha.Report(TrialId(1), 1, 2);
  asha.Report(TrialId(2), 1, 3);
  EXPECT_THAT(asha.Report(TrialId(3), 1, 1), ElementsAre(GoOn(3, 3)));
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, TheHighestRungComesFirstThenTheBestValue) {
  AshaPromotion asha = MakeAsha(6, 9, 2);  // rungs 1, 2, 4, 8
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
  AshaPromotion asha = MakeAsha(6);
  for (std::uint32_t id = 1; id <= 3; ++id) asha.Report(TrialId(id), 1, id);
  asha.End(TrialId(1), true);
  EXPECT_THAT(NextOf(asha), IsEmpty());
  for (std::uint32_t id = 4; id <= 6; ++id) asha.Report(TrialId(id), 1, id);
  EXPECT_THAT(NextOf(asha), ElementsAre(Advance{TrialId(2), 3}));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 0), IsEmpty());
}

// It could never be promoted: paused, it would hold its checkpoint for nothing.
TEST(AshaPromotionTest, NanIsStopped) {
  AshaPromotion asha = MakeAsha(3);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_THAT(asha.Report(TrialId(id), 1, kNan), ElementsAre(Stop(id)));
  }
  EXPECT_THAT(NextOf(asha), IsEmpty());
}

TEST(AshaPromotionTest, AReportPastSeveralRungsCountsAsPromotedInTheLower) {
  AshaPromotion asha = MakeAsha(3);
  EXPECT_THAT(asha.Report(TrialId(1), 4, 1), ElementsAre(Pause(1)));  // rungs 1 and 3
  asha.Report(TrialId(2), 1, 2);
  asha.Report(TrialId(3), 1, 3);
  EXPECT_THAT(NextOf(asha), IsEmpty());  // the one place at rung 1 is trial 1's, who has used it
}

TEST(AshaPromotionTest, APausedTrialThatGoesOnAllTheSameIsToldAgain) {
  AshaPromotion asha = MakeAsha(1);
  EXPECT_THAT(asha.Report(TrialId(1), 1, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 2, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 3, 1), ElementsAre(Pause(1)));
  EXPECT_THAT(asha.Report(TrialId(1), 9, 1), IsEmpty());
}

// Promotable trials by the definition, from the whole history.
class Oracle {
 public:
  explicit Oracle(const StopperSpec& spec) : history_(spec) {}

  Work TargetAfter(Work work) const { return history_.TargetAfter(work); }
  void End(TrialId trial) { ended_.insert(trial); }

  std::vector<Ruling> Report(const RecordedReport& report) {
    const TrialId trial = report.trial;
    if (ended_.contains(trial)) return {};
    const std::vector<std::size_t> reached = history_.Add(report);
    if (report.work >= history_.spec().max_budget) {
      for (std::size_t k = 0; k < history_.levels().size(); ++k) promoted_.insert({k, trial});
      paused_.erase(trial);
      return {};
    }
    if (reached.empty()) {
      if (!paused_.contains(trial)) return {};
      return {{trial, Verdict::kPause}};
    }
    for (std::size_t k = 0; k < reached.back(); ++k) promoted_.insert({k, trial});
    if (std::isnan(report.value)) {
      ended_.insert(trial);
      return {{trial, Verdict::kStop}};
    }
    const std::vector<TrialId> promotable = Promotable(reached.back());
    if (std::ranges::find(promotable, trial) == promotable.end()) {
      paused_.insert(trial);
      return {{trial, Verdict::kPause}};
    }
    Promote(reached.back(), trial);
    return {{trial, Verdict::kGoOn, TargetAfter(report.work)}};
  }

  std::optional<Advance> Next() {
    for (std::size_t k = history_.levels().size(); k-- > 0;) {
      const std::vector<TrialId> promotable = Promotable(k);
      if (promotable.empty()) continue;
      Promote(k, promotable.front());
      return Advance{promotable.front(), TargetAfter(history_.levels()[k])};
    }
    return std::nullopt;
  }

 private:
  std::vector<TrialId> Promotable(std::size_t rung) const {
    std::vector<RecordedReport> ranked = history_.Ranked(rung);
    ranked.resize(ranked.size() / static_cast<std::size_t>(history_.spec().eta));
    std::vector<TrialId> promotable;
    for (const RecordedReport& report : ranked) {
      if (std::isnan(report.value) || ended_.contains(report.trial)) continue;
      if (!promoted_.contains({rung, report.trial})) promotable.push_back(report.trial);
    }
    return promotable;
  }

  void Promote(std::size_t rung, TrialId trial) {
    promoted_.insert({rung, trial});
    paused_.erase(trial);
  }

  ReportHistory history_;
  std::set<std::pair<std::size_t, TrialId>> promoted_;
  std::set<TrialId> ended_;
  std::set<TrialId> paused_;
};

TEST(AshaPromotionTest, RulesLikeTheOracleOverRandomHistories) {
  int go_ons = 0;
  int pauses = 0;
  int resumptions = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random = Random(seed).Fork("asha-promotion");
    const StopperSpec spec = AnySpec(random, "asha-promotion");
    AshaPromotion asha(spec);
    Oracle oracle(spec);
    std::vector<Work> work;
    for (int step = 0; step < 80; ++step) {
      if (work.empty() || (work.size() < 30 && random.Chance(0.3))) {
        work.push_back(0);
        const auto admitted = static_cast<TrialId>(work.size());
        ASSERT_EQ(asha.Admit(admitted), oracle.TargetAfter(0));
      }
      if (random.Chance(0.2)) {
        const std::vector<Advance> next = NextOf(asha);
        const std::optional<Advance> expected = oracle.Next();
        ASSERT_EQ(next, expected ? std::vector{*expected} : std::vector<Advance>{})
            << "seed " << seed << " step " << step;
        resumptions += expected ? 1 : 0;
      }
      const std::size_t index = random.Below(work.size());
      const auto trial = static_cast<TrialId>(index + 1);
      if (random.Chance(0.03)) {
        asha.End(trial, random.Chance(0.5));
        oracle.End(trial);
        continue;
      }
      // Paused trials report too: the world does not wait.
      work[index] = AnyNextWork(random, work[index], oracle.TargetAfter(work[index]));
      const RecordedReport report = {trial, work[index], AnyLoss(random)};
      const std::vector<Ruling> rulings = asha.Report(trial, report.work, report.value);
      ASSERT_EQ(rulings, oracle.Report(report)) << "seed " << seed << " step " << step;
      for (const Ruling& ruling : rulings) {
        go_ons += ruling.verdict == Verdict::kGoOn ? 1 : 0;
        pauses += ruling.verdict == Verdict::kPause ? 1 : 0;
      }
    }
  }
  EXPECT_GT(go_ons, 3000);
  EXPECT_GT(pauses, 10'000);
  EXPECT_GT(resumptions, 1000);
}

}  // namespace
}  // namespace sluice
