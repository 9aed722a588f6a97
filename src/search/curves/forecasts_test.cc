#include "search/curves/forecasts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace sluice {
namespace {

void Train(Forecasts& forecasts, std::uint32_t trial, Work upto, double limit) {
  for (Work work = 1; work <= upto; ++work)
    forecasts.Add(TrialId(trial), work, limit + (1 - limit) / (1 + static_cast<double>(work) / 4));
}

TEST(ForecastsTest, NothingIsKnownBeforeReports) {
  Forecasts forecasts;
  EXPECT_FALSE(forecasts.Fresh().known);
  EXPECT_FALSE(forecasts.Of(TrialId(3)).known);
}

TEST(ForecastsTest, TheBetterCurveIsExpectedToEndBetter) {
  Forecasts forecasts;
  Train(forecasts, 1, 12, 0.4);
  Train(forecasts, 3, 12, 0.1);
  ASSERT_TRUE(forecasts.Of(TrialId(1)).known);
  EXPECT_LT(forecasts.Of(TrialId(3)).At(100), forecasts.Of(TrialId(1)).At(100) - 0.1);
  EXPECT_NEAR(forecasts.Of(TrialId(3)).At(100), 0.1 + 0.9 / 26, 0.1);
}

TEST(ForecastsTest, ATrialWithoutReportsIsAsOneThatHasNotBegun) {
  Forecasts forecasts;
  Train(forecasts, 1, 12, 0.4);
  Train(forecasts, 3, 12, 0.1);
  for (const std::uint32_t trial : {2u, 4u, 100u})
    EXPECT_EQ(forecasts.Of(TrialId(trial)).At(50), forecasts.Fresh().At(50)) << trial;
}

TEST(ForecastsTest, AReportChangesWhatIsExpected) {
  Forecasts forecasts;
  Train(forecasts, 1, 12, 0.4);
  Train(forecasts, 2, 4, 0.4);
  const double before = forecasts.Of(TrialId(2)).At(100);
  forecasts.Add(TrialId(2), 8, 0.05);
  EXPECT_LT(forecasts.Of(TrialId(2)).At(100), before);
}

TEST(ForecastsTest, CurvesAreSavedAndReadBack) {
  Forecasts forecasts;
  Train(forecasts, 1, 12, 0.4);
  Train(forecasts, 3, 20, 0.1);
  forecasts.Add(TrialId(4), 1, std::nan(""));
  StateWriter writer;
  forecasts.Save(writer);
  const std::string bytes = writer.Take();
  Forecasts again;
  StateReader reader(bytes);
  ASSERT_TRUE(again.Load(reader));
  ASSERT_TRUE(reader.Finish());
  EXPECT_EQ(again.size(), 4u);
  for (const std::uint32_t trial : {1u, 2u, 3u, 4u})
    EXPECT_EQ(again.Of(TrialId(trial)).At(50), forecasts.Of(TrialId(trial)).At(50)) << trial;
  StateReader cut(std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_FALSE(again.Load(cut) && cut.Finish());
}

}  // namespace
}  // namespace sluice
