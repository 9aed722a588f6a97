#include "policy/confluence/elastic_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace sluice {
namespace {

SpeedTable Table(std::vector<SpeedTable::Knot> knots) {
  return *SpeedTable::Make(std::move(knots));
}

TEST(ElasticBoundTest, RigidTrialsAreBoundByTheLongestAndByTheSum) {
  const SpeedTable rigid;
  const ElasticRoom room{.devices = 4, .most_width = 1};
  EXPECT_DOUBLE_EQ(ElasticBound(std::vector{100.0, 1.0, 1.0}, rigid, room), 100);
  EXPECT_DOUBLE_EQ(ElasticBound(std::vector<double>(10, 10.0), rigid, room), 25);
  EXPECT_EQ(ElasticBound({}, rigid, room), 0);
}

TEST(ElasticBoundTest, SharesGiveNothingThatWholeDevicesDoNot) {
  EXPECT_DOUBLE_EQ(MostSpeed(SpeedTable(), {.devices = 2, .most_width = 1}, 1), 1);
  EXPECT_DOUBLE_EQ(MostSpeed(SpeedTable(), {.devices = 2, .most_width = 1}, 2), 2);
  EXPECT_DOUBLE_EQ(MostSpeed(SpeedTable(), {.devices = 2, .most_width = 1}, 50), 2);
  EXPECT_DOUBLE_EQ(MostSpeed(SpeedTable(), {.devices = 2, .most_width = 1}, 0), 0);
  EXPECT_DOUBLE_EQ(MostSpeed(SpeedTable(), {.devices = 1, .most_width = 0.5}, 1), 0.5);
}

TEST(ElasticBoundTest, WideTrialsArePaidForInSpeed) {
  const SpeedTable resnet50 = *WidthTable("resnet50");
  const ElasticRoom room{.devices = 8, .most_width = 8};
  EXPECT_DOUBLE_EQ(MostSpeed(resnet50, room, 1), 5.5983);
  EXPECT_DOUBLE_EQ(MostSpeed(resnet50, room, 2), 2 * 3.4215);
  EXPECT_NEAR(MostSpeed(resnet50, room, 3), 3 * (1.8699 + (3.4215 - 1.8699) / 3),
              1e-12);  // 8/3 each
  EXPECT_DOUBLE_EQ(MostSpeed(resnet50, room, 8), 8);
  EXPECT_DOUBLE_EQ(MostSpeed(resnet50, room, 80), 8);
  EXPECT_DOUBLE_EQ(MostSpeed(resnet50, {.devices = 8, .most_width = 2}, 2), 2 * 1.8699);
  EXPECT_DOUBLE_EQ(ElasticBound(std::vector{60.0}, resnet50, room), 60 / 5.5983);
}

TEST(ElasticBoundTest, ADentInTheTableIsBridged) {
  // Width 2 is no better than 1; three trials on 6 devices take turns at widths 1 and 4.
  const SpeedTable dented = Table({{1, 1}, {2, 1}, {4, 3}});
  EXPECT_NEAR(MostSpeed(dented, {.devices = 6, .most_width = 4}, 3), 3 * (1 + 2.0 / 3), 1e-12);
  // Speed grows faster than width, so running one trial after the other is best.
  const SpeedTable steep = Table({{1, 1}, {4, 8}});
  EXPECT_NEAR(MostSpeed(steep, {.devices = 4, .most_width = 4}, 4), 8, 1e-12);
  // That is not so if there are too few devices for the widest.
  EXPECT_NEAR(MostSpeed(steep, {.devices = 1, .most_width = 4}, 4), 1, 1e-12);
}

TEST(ElasticBoundTest, AFewLongTrialsCountWithoutTheShortOnes) {
  std::vector<double> seconds(10, 1.0);
  seconds.insert(seconds.end(), {100, 100});
  // With a linear table the sum of all trials decides. With resnet18 the two long trials decide:
  // they cannot use four devices that well.
  const SpeedTable linear = *WidthTable("linear");
  EXPECT_DOUBLE_EQ(ElasticBound(seconds, linear, {.devices = 3, .most_width = 2}), 210 / 3.0);
  EXPECT_DOUBLE_EQ(ElasticBound(seconds, *WidthTable("resnet18"), {.devices = 4, .most_width = 4}),
                   200 / (2 * 1.85));
}

TEST(ElasticBoundTest, NothingToRunOnTakesForEver) {
  const std::vector seconds{1.0};
  EXPECT_TRUE(std::isinf(ElasticBound(seconds, SpeedTable(), {.devices = 0, .most_width = 1})));
  EXPECT_TRUE(std::isinf(ElasticBound(seconds, SpeedTable(), {.devices = 1, .most_width = 0})));
  EXPECT_EQ(ElasticBound(std::vector{0.0}, SpeedTable(), {}), 0);
}

// Trials at widths drawn at random are never faster together than MostSpeed, and never end before
// the bound.
TEST(ElasticBoundTest, NoWidthsAreBetter) {
  Random random(6);
  for (int i = 0; i < 2000; ++i) {
    std::vector<SpeedTable::Knot> knots;
    double x = 0;
    double speed = 0;
    for (int k = 0; k < 4; ++k) {
      x += random.Uniform(0.5, 3);
      speed += random.Uniform(0.01, 2);
      knots.push_back({x, speed});
    }
    const SpeedTable table = Table(knots);
    const ElasticRoom room{.devices = random.Uniform(1, 12), .most_width = random.Uniform(0.5, 10)};
    double left = room.devices;
    double total = 0;
    double end = 0;
    std::vector<double> seconds;
    for (int trial = 0; trial < 4; ++trial) {
      const double width = std::min(room.most_width, random.Uniform(0.01, 1) * left);
      left -= width;
      total += table.At(width);
      seconds.push_back(random.Uniform(1, 100));
      end = std::max(end, seconds.back() / table.At(width));
    }
    ASSERT_LE(total, MostSpeed(table, room, 4) + 1e-9) << "table " << i;
    ASSERT_LE(ElasticBound(seconds, table, room), end + 1e-9) << "table " << i;
  }
}

}  // namespace
}  // namespace sluice
