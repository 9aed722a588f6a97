#include "search/stopper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/state.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

Error ErrorOf(const StopperSpec& spec) {
  const auto result = MakeStopper(spec);
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

TEST(StopperTest, UnknownNamesGetASuggestion) {
  const Error error = ErrorOf({.name = "ahsa"});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("none, asha, asha-promotion"));
  EXPECT_THAT(error.message, HasSubstr("did you mean 'asha'?"));
}

TEST(StopperTest, BudgetsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(ErrorOf({.name = "none", .eta = 1}).message,
              HasSubstr("eta: expected 2 or more, found 1"));
  EXPECT_THAT(ErrorOf({.name = "none", .min_budget = 0}).message, HasSubstr("min_budget"));
  EXPECT_THAT(ErrorOf({.name = "none", .max_budget = 0}).message, HasSubstr("max_budget"));
  for (const char* name : {"asha", "asha-promotion", "sha", "hyperband", "pbt", "pbt-async"}) {
    EXPECT_THAT(ErrorOf({.name = name}).message, HasSubstr("max_budget: the stopper"));
    EXPECT_THAT(ErrorOf({.name = name, .min_budget = 10, .max_budget = 9}).message,
                HasSubstr("min_budget: expected at most max_budget = 9, found 10"));
  }
}

TEST(StopperTest, OptionsOutOfRangeAreRefused) {
  EXPECT_THAT(ErrorOf({.name = "percentile", .percentile = 101}).message,
              HasSubstr("percentile: expected 0 to 100 with at most three decimals, found 101"));
  EXPECT_THAT(ErrorOf({.name = "percentile", .percentile = 0.0001}).message,
              HasSubstr("at most three decimals"));
  EXPECT_THAT(ErrorOf({.name = "percentile", .percentile = std::nan("")}).message,
              HasSubstr("percentile: expected"));
  EXPECT_THAT(ErrorOf({.name = "median", .startup = -1}).message,
              HasSubstr("startup: expected 0 or more, found -1"));
  EXPECT_THAT(ErrorOf({.name = "median", .min_trials = 0}).message,
              HasSubstr("min_trials: expected 1 or more, found 0"));
  EXPECT_THAT(ErrorOf({.name = "patience", .patience = 0}).message,
              HasSubstr("patience: expected 1 or more, found 0"));
  EXPECT_THAT(ErrorOf({.name = "patience", .min_delta = -1}).message,
              HasSubstr("min_delta: expected a number of 0 or more, found -1"));
  EXPECT_THAT(ErrorOf({.name = "sha", .max_budget = 9, .bracket = -1}).message,
              HasSubstr("bracket: expected 1 or more, found -1"));
  for (const double quantile : {0.0, -0.1, 0.51, 0.0001, std::nan("")}) {
    EXPECT_THAT(
        ErrorOf({.name = "pbt", .max_budget = 9, .quantile = quantile}).message,
        HasSubstr(
            "quantile: expected above 0 and at most 0.5, with at most three decimals, found"));
  }
  EXPECT_THAT(ErrorOf({.name = "pbt", .max_budget = 9, .interval = -1}).message,
              HasSubstr("interval: expected 1 or more, found -1"));
  EXPECT_THAT(ErrorOf({.name = "pbt-async", .max_budget = 9, .interval = 9}).message,
              HasSubstr("interval: expected less than 9, the full budget"));
  EXPECT_THAT(ErrorOf({.name = "pbt", .max_budget = 1'000'000, .interval = 1}).message,
              HasSubstr("interval: expected at least 11, so that there are at most 100000"));
}

TEST(StopperTest, TheMedianIsPercentileFifty) {
  const auto median = MakeStopper({.name = "median", .percentile = 1, .startup = 2}).value();
  for (const std::uint32_t id : {1, 2, 3, 4}) median->Admit(TrialId(id));
  for (const std::uint32_t id : {1, 2}) {
    median->Report(TrialId(id), 1, id);
    median->End(TrialId(id), /*failed=*/false);
  }
  EXPECT_TRUE(median->Report(TrialId(3), 1, 1.5).empty());
  EXPECT_FALSE(median->Report(TrialId(4), 1, 1.6).empty());
}

TEST(StopperTest, NoneRunsEveryTrialToTheFullBudget) {
  const auto none = MakeStopper({.name = "none", .max_budget = 7}).value();
  EXPECT_EQ(none->Admit(TrialId(1)), 7);
  EXPECT_TRUE(none->Report(TrialId(1), 6, 1).empty());
  EXPECT_TRUE(none->Report(TrialId(1), 7, 1).empty());
  EXPECT_FALSE(none->Next());
  EXPECT_EQ(MakeStopper({.name = "none"}).value()->Admit(TrialId(1)), kNoLimit);
}

TEST(StopperTest, AStateOfAnotherSpecIsRefused) {
  for (const std::string& name : StopperNames()) {
    if (name == "none") continue;  // it keeps nothing
    StateWriter writer;
    MakeStopper({.name = name, .max_budget = 9}).value()->Save(writer);
    StateReader reader(writer.bytes());
    EXPECT_FALSE(MakeStopper({.name = name, .max_budget = 27}).value()->Load(reader));
  }
}

// Not a benchmark: a quadratic step would take minutes here.
TEST(StopperTest, AHundredThousandTrialsAreQuick) {
  for (const char* name : {"asha", "asha-promotion"}) {
    const auto stopper = MakeStopper({.name = name, .max_budget = 81}).value();
    Random random(1);
    for (std::uint32_t id = 1; id <= 100'000; ++id) {
      Work target = stopper->Admit(TrialId(id));
      for (bool running = true; running && target < 81;) {
        const auto rulings = stopper->Report(TrialId(id), target, random.Uniform());
        ASSERT_EQ(rulings.size(), 1u);
        running = rulings[0].verdict == Verdict::kGoOn;
        target = rulings[0].target;
      }
      while (stopper->Next()) {
      }
    }
    StateWriter writer;
    stopper->Save(writer);
    EXPECT_LT(writer.bytes().size(), 100'000u * 40);
  }
}

TEST(StopperTest, ABracketOfAHundredThousandIsQuick) {
  constexpr std::uint32_t kTrials = 100'000;
  const auto sha = MakeStopper({.name = "sha", .max_budget = 81, .bracket = kTrials}).value();
  Random random(1);
  for (std::uint32_t id = 1; id <= kTrials; ++id) sha->Admit(TrialId(id));
  std::size_t promoted = 0;
  for (std::uint32_t id = 1; id <= kTrials; ++id) {
    for (const Ruling& ruling : sha->Report(TrialId(id), 1, random.Uniform())) {
      promoted += ruling.verdict == Verdict::kGoOn ? 1 : 0;
    }
  }
  while (const auto group = sha->Next()) promoted += group->members.size();
  EXPECT_EQ(promoted, kTrials / 3);
}

TEST(StopperTest, LargePopulationsAreQuick) {
  for (const char* name : {"pbt", "pbt-async"}) {
    const std::uint32_t trials = name == std::string("pbt") ? 100'000 : 5'000;
    const auto pbt = MakeStopper({.name = name, .max_budget = 4, .interval = 2}).value();
    Random random(1);
    for (std::uint32_t id = 1; id <= trials; ++id) pbt->Admit(TrialId(id));
    pbt->Closed();
    std::uint32_t forks = 0;
    for (std::uint32_t id = 1; id <= trials; ++id) {
      for (const Ruling& ruling : pbt->Report(TrialId(id), 2, random.Uniform())) {
        if (ruling.verdict != Verdict::kFork) continue;
        ++forks;
        pbt->AdmitFork(TrialId(trials + forks), ruling.trial);
      }
    }
    while (pbt->Next()) {
    }
    EXPECT_GE(forks, trials / 5) << name;
    EXPECT_LE(forks, trials / 3) << name;
  }
}

TEST(StopperTest, AHundredThousandCurvesBesideTheMedianAreQuick) {
  const auto median = MakeStopper({.name = "median", .max_budget = 9}).value();
  Random random(1);
  for (std::uint32_t id = 1; id <= 100'000; ++id) {
    median->Admit(TrialId(id));
    for (Work work = 1; work <= 9; ++work) {
      if (!median->Report(TrialId(id), work, random.Uniform()).empty()) break;
    }
  }
  StateWriter writer;
  median->Save(writer);
  EXPECT_LT(writer.bytes().size(), 100'000u * 12 * 9);
}

}  // namespace
}  // namespace sluice
