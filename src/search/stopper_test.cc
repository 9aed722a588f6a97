#include "search/stopper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const char* name : {"asha", "asha-promotion"}) {
    EXPECT_THAT(ErrorOf({.name = name}).message, HasSubstr("max_budget: the stopper"));
    EXPECT_THAT(ErrorOf({.name = name, .min_budget = 10, .max_budget = 9}).message,
                HasSubstr("min_budget: expected at most max_budget = 9, found 10"));
  }
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
  for (const char* name : {"asha", "asha-promotion"}) {
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

}  // namespace
}  // namespace sluice
