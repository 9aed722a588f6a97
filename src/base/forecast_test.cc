#include "base/forecast.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ForecastTest, IsAPowerLawTowardsItsLimit) {
  const Forecast forecast{.known = true, .limit = 2, .drop = 6, .scale = 8, .exponent = 2};
  EXPECT_DOUBLE_EQ(forecast.At(0), 8);
  EXPECT_DOUBLE_EQ(forecast.At(8), 3.5);
  EXPECT_NEAR(forecast.At(1e9), 2, 1e-9);
}

TEST(ForecastTest, SpreadRisesFromZeroAtTheWorkDoneToTheSpreadOfTheLimit) {
  const Forecast forecast{
      .known = true, .limit = 2, .drop = 6, .scale = 8, .exponent = 1, .done = 8, .spread = 0.5};
  EXPECT_EQ(forecast.SpreadAt(8), 0);
  EXPECT_EQ(forecast.SpreadAt(3), 0);
  // From work 8 to 24, 1 / (1 + work/scale) halves, so half of the spread is reached.
  EXPECT_DOUBLE_EQ(forecast.SpreadAt(24), 0.25);
  EXPECT_NEAR(forecast.SpreadAt(1e9), 0.5, 1e-6);
}

TEST(ForecastTest, AForecastOfGettingWorseIsFlat) {
  const Forecast forecast{.known = true, .limit = 2, .drop = -1};
  EXPECT_EQ(forecast.At(0), 2);
  EXPECT_EQ(forecast.At(100), 2);
}

}  // namespace
}  // namespace sluice
