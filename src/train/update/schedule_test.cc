#include "train/update/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::train {
namespace {

using recipe::Schedule;

// That the rates are PyTorch's is checked by tests/train/test_updates.py. Here: what PyTorch's
// schedulers do not have.

double Rate(const Schedule& schedule, std::int64_t step, double steps_per_unit = 10) {
  recipe::OptimizerSettings settings;
  settings.lr = 0.5;
  return RateAt(settings, schedule, step, steps_per_unit);
}

TEST(ScheduleTest, WarmUpRisesInEqualSteps) {
  const Schedule schedule{.warmup = 0.4};
  EXPECT_DOUBLE_EQ(Rate(schedule, 0), 0.125);
  EXPECT_DOUBLE_EQ(Rate(schedule, 1), 0.25);
  EXPECT_DOUBLE_EQ(Rate(schedule, 3), 0.5);
  EXPECT_DOUBLE_EQ(Rate(schedule, 400), 0.5);
}

TEST(ScheduleTest, LengthsCountFromTheEndOfTheWarmUp) {
  const Schedule schedule{.kind = Schedule::Kind::kStep, .every = 1, .warmup = 2};
  EXPECT_DOUBLE_EQ(Rate(schedule, 20), 0.5);
  EXPECT_DOUBLE_EQ(Rate(schedule, 29), 0.5);
  EXPECT_DOUBLE_EQ(Rate(schedule, 30), 0.05);
}

TEST(ScheduleTest, LengthsAreRoundedToWholeSteps) {
  const Schedule schedule{.kind = Schedule::Kind::kStep, .every = 0.5};
  EXPECT_DOUBLE_EQ(Rate(schedule, 2, 5.2), 0.5);  // 2.6 steps are 3
  EXPECT_DOUBLE_EQ(Rate(schedule, 3, 5.2), 0.05);
  EXPECT_DOUBLE_EQ(Rate(schedule, 1, 0.1), 0.05);  // and at least one
  EXPECT_DOUBLE_EQ(Rate({.warmup = 0.04}, 0), 0.5);
}

TEST(ScheduleTest, ExponentialFallsEvenlyWithinAUnit) {
  const Schedule schedule{.kind = Schedule::Kind::kExponential, .gamma = 0.25};
  EXPECT_DOUBLE_EQ(Rate(schedule, 5), 0.25);
  EXPECT_DOUBLE_EQ(Rate(schedule, 10), 0.125);
}

TEST(ScheduleTest, StaysAtTheEnd) {
  const Schedule cosine{.kind = Schedule::Kind::kCosine, .over = 2, .last = 0.25};
  EXPECT_DOUBLE_EQ(Rate(cosine, 20), 0.125);
  EXPECT_DOUBLE_EQ(Rate(cosine, 33), 0.125);
  const Schedule cycle{.kind = Schedule::Kind::kOneCycle, .over = 2, .last = 0.5, .div = 5};
  EXPECT_DOUBLE_EQ(Rate(cycle, 0), 0.1);
  EXPECT_DOUBLE_EQ(Rate(cycle, 5), 0.5);
  EXPECT_DOUBLE_EQ(Rate(cycle, 19), 0.05);
  EXPECT_DOUBLE_EQ(Rate(cycle, 1000), 0.05);
}

TEST(ScheduleTest, ShortestCyclesHaveRates) {
  for (const double rise : {0.0, 0.3, 1.0}) {
    for (const double over : {0.0, 0.1, 0.2, 0.3}) {
      const Schedule cycle{
          .kind = Schedule::Kind::kOneCycle, .over = over, .last = 0.1, .rise = rise};
      for (std::int64_t step = 0; step < 5; ++step) {
        const double rate = Rate(cycle, step);
        EXPECT_TRUE(rate > 0 && rate <= 0.5) << rise << " " << over << " " << step << ": " << rate;
      }
    }
  }
}

TEST(ScheduleTest, EndlessLengthsAreLong) {
  const Schedule cosine{.kind = Schedule::Kind::kCosine, .over = 1e300};
  EXPECT_DOUBLE_EQ(Rate(cosine, 1'000'000), 0.5);
}

}  // namespace
}  // namespace sluice::train
