#include "search/pbt_async.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "search/test_history.h"

namespace sluice {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

StopperSpec SpecOf(Work interval, Work max) {
  return {.name = "pbt-async", .max_budget = max, .interval = interval, .seed = 4};
}

TEST(PbtAsyncTest, TheWorstQuarterIsReplacedByForksOfTheBest) {
  PbtAsync pbt(SpecOf(5, 20));
  for (const std::uint32_t id : {1, 2, 3, 4}) EXPECT_EQ(pbt.Admit(TrialId(id)), 5);
  EXPECT_TRUE(pbt.Report(TrialId(1), 4, 9).empty()) << "not judged between stages";
  const Ruling goes_on = {.trial = TrialId(1), .verdict = Verdict::kGoOn, .target = 10};
  EXPECT_EQ(pbt.Report(TrialId(1), 5, 1), std::vector{goes_on}) << "alone it is not compared";
  EXPECT_TRUE(pbt.Report(TrialId(1), 7, 50).empty()) << "the value at the stage counts";
  const Ruling forked = {
      .trial = TrialId(2), .verdict = Verdict::kFork, .target = 10, .from = TrialId(1)};
  EXPECT_EQ(pbt.Report(TrialId(2), 5, 3), std::vector{forked});
  pbt.AdmitFork(TrialId(5), TrialId(2));
  EXPECT_TRUE(pbt.Report(TrialId(2), 6, 0).empty()) << "who lost is not asked again";
  EXPECT_TRUE(pbt.Report(TrialId(5), 8, 7).empty()) << "a fork is judged at its own stage";
  EXPECT_EQ(pbt.Report(TrialId(5), 10, 0.5).front().verdict, Verdict::kGoOn);
}

TEST(PbtAsyncTest, NobodyIsForkedFromNanOrFromWhoHasEnded) {
  PbtAsync pbt(SpecOf(5, 20));
  for (const std::uint32_t id : {1, 2, 3}) pbt.Admit(TrialId(id));
  pbt.Report(TrialId(1), 5, kNan);
  EXPECT_EQ(pbt.Report(TrialId(2), 5, kNan).front().verdict, Verdict::kGoOn);
  pbt.Report(TrialId(3), 5, 1);
  EXPECT_EQ(pbt.Report(TrialId(2), 10, kNan).front().from, TrialId(3));
  pbt.AdmitFork(TrialId(4), TrialId(2));
  pbt.End(TrialId(3), /*failed=*/true);
  EXPECT_EQ(pbt.Report(TrialId(1), 10, 9).front().verdict, Verdict::kGoOn);
}

// From all that was said, by sorting.
TEST(PbtAsyncTest, ItIsTheRuleOverManyHistories) {
  int forks = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random = Random(seed).Fork("pbt-async");
    const StopperSpec spec = AnySpec(random, "pbt-async");
    const Perturbation rule(spec);
    PbtAsync pbt(spec);
    struct Member {
      Work work = 0;
      Work target = 0;
      std::optional<double> value = {};
      bool own = true;  // the value
    };
    std::map<TrialId, Member> living;
    std::uint32_t last = 0;
    for (int step = 0; step < 200; ++step) {
      if (living.empty() || random.Chance(0.1)) {
        const auto trial = TrialId(++last);
        living[trial] = {.target = pbt.Admit(trial)};
      }
      auto at = std::next(living.begin(), static_cast<std::ptrdiff_t>(random.Below(living.size())));
      const TrialId trial = at->first;
      Member& member = at->second;
      if (random.Chance(0.03)) {
        ASSERT_TRUE(pbt.End(trial, /*failed=*/true).empty());
        living.erase(at);
        continue;
      }
      member.work = AnyNextWork(random, member.work, member.target);
      const double value = AnyLoss(random);
      const std::vector<Ruling> rulings = pbt.Report(trial, member.work, value);
      if (member.work >= spec.max_budget) {
        ASSERT_TRUE(rulings.empty());
        living.erase(at);
        continue;
      }
      if (member.work < member.target) {
        ASSERT_TRUE(rulings.empty());
        continue;
      }
      member.value = value;
      member.own = true;
      std::vector<Mark> marks;
      for (const auto& [other, its] : living) {
        if (its.value) marks.push_back({*its.value, other});
      }
      std::ranges::sort(marks, Better);
      const std::size_t part = rule.Quantile(marks.size());
      const auto rank =
          static_cast<std::size_t>(std::ranges::find(marks, trial, &Mark::trial) - marks.begin());
      std::vector<TrialId> donors;
      for (std::size_t i = 0; i < part; ++i) {
        if (!std::isnan(marks[i].value) && living.at(marks[i].trial).own)
          donors.push_back(marks[i].trial);
      }
      ASSERT_EQ(rulings.size(), 1U);
      const Ruling& ruling = rulings.front();
      if (rank < marks.size() - part || donors.empty()) {
        ASSERT_EQ(ruling.verdict, Verdict::kGoOn);
        ASSERT_GT(ruling.target, member.work);
        member.target = ruling.target;
        continue;
      }
      ASSERT_EQ(ruling.verdict, Verdict::kFork);
      ASSERT_EQ(ruling.from, donors[rule.Draw(donors.size(), trial, member.work)]);
      ASSERT_GT(ruling.target, living.at(ruling.from).work);
      const auto fork = TrialId(++last);
      pbt.AdmitFork(fork, trial);
      const Member started = {.work = living.at(ruling.from).work,
                              .target = ruling.target,
                              .value = member.value,
                              .own = false};
      living.erase(at);
      living[fork] = started;
      ++forks;
    }
  }
  EXPECT_GT(forks, 5000);
}

}  // namespace
}  // namespace sluice
