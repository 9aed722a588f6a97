#include "search/stoppers/pbt_async.h"

#include <gtest/gtest.h>

#include "base/test_numbers.h"

namespace sluice {
namespace {

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
  EXPECT_TRUE(pbt.Report(TrialId(2), 6, 0).empty())
      << "a trial that lost its place is not asked again";
  EXPECT_TRUE(pbt.Report(TrialId(5), 8, 7).empty()) << "a fork is judged at its own stage";
  EXPECT_EQ(pbt.Report(TrialId(5), 10, 0.5).front().verdict, Verdict::kGoOn);
}

TEST(PbtAsyncTest, NoForkIsMadeFromNanOrFromATrialThatHasEnded) {
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

}  // namespace
}  // namespace sluice
