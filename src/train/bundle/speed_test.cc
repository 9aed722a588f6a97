#include "train/bundle/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::train {
namespace {

using testing::DoubleNear;
using testing::Optional;

void Train(Speed& speed, std::size_t trials, int steps, double seconds) {
  for (int i = 0; i < steps; ++i) speed.Trained(trials, seconds / steps);
}

TEST(SpeedTest, IsToldOnceItIsMeasuredLongEnough) {
  Speed speed;
  Train(speed, 4, 100, 1.5);
  EXPECT_EQ(speed.Due(), std::nullopt);
  Train(speed, 4, 100, 1.5);
  EXPECT_THAT(speed.Due(), Optional(DoubleNear(200 / 3.0, 1e-9)));
}

TEST(SpeedTest, AFewLongStepsSayTooLittle) {
  Speed speed;
  Train(speed, 4, 19, 100);
  EXPECT_EQ(speed.Due(), std::nullopt);
}

TEST(SpeedTest, IsToldAgainOnlyAfterAChange) {
  Speed speed;
  Train(speed, 4, 100, 10);
  EXPECT_THAT(speed.Due(), Optional(DoubleNear(10, 1e-9)));
  Train(speed, 4, 100, 9);
  EXPECT_EQ(speed.Due(), std::nullopt);
  Train(speed, 4, 100, 5);
  EXPECT_THAT(speed.Due(), Optional(DoubleNear(20, 1e-9)));
}

TEST(SpeedTest, EachNumberOfTrialsHasItsOwn) {
  Speed speed;
  Train(speed, 4, 100, 10);
  EXPECT_TRUE(speed.Due());
  Train(speed, 4, 100, 10);
  Train(speed, 8, 100, 10);  // what was measured with 4 trials does not count
  EXPECT_THAT(speed.Due(), Optional(DoubleNear(10, 1e-9)));
  Train(speed, 4, 100, 10);
  EXPECT_EQ(speed.Due(), std::nullopt);
}

}  // namespace
}  // namespace sluice::train
