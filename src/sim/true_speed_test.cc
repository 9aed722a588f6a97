#include "sim/true_speed.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TrueSpeedTest, WidthFollowsTheElasticTable) {
  WorkloadSpec work;
  work.on = "V100";
  work.seconds_per_unit = 20;
  work.widths = *WidthTable("resnet50");
  const TrueSpeed speed(work);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "V100"}), 0.05);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "V100", .width = 4}), 0.05 * 3.4215);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "V100", .width = 16}), 0.05 * 5.5983);
}

TEST(TrueSpeedTest, AQuickerKindIsQuickerAndTheScenarioMayKnowBetter) {
  WorkloadSpec work;
  work.busy = 0;
  EXPECT_NEAR(TrueSpeed(work).Of({.kind = "H100"}), 79.0 / 64.0, 0.01);
  work.speeds["H100"] = 3;
  EXPECT_DOUBLE_EQ(TrueSpeed(work).Of({.kind = "H100"}), 3);
}

TEST(TrueSpeedTest, AShareIsACap) {
  WorkloadSpec work;
  work.busy = 0.5;
  const TrueSpeed speed(work);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "A100", .width = 0.5}), 1);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "A100", .width = 0.25}), 0.5);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "A100", .width = 1}), 1);
}

TEST(TrueSpeedTest, HyperSacksSharesComeOutAboutRight) {
  WorkloadSpec work;
  work.busy = 0.37;
  EXPECT_NEAR(TrueSpeed(work).Of({.kind = "H100"}), 79.0 / 64.0, 0.01);
  EXPECT_NEAR(TrueSpeed(work).Busy("H100", 1), 0.25, 0.03);
  EXPECT_DOUBLE_EQ(TrueSpeed(work).Busy("A100", 1), 0.37);
  EXPECT_DOUBLE_EQ(TrueSpeed(work).Busy("A100", 0.2), 0.2);
}

TEST(TrueSpeedTest, NeighboursCostTimeAndMoreThanThereIsIsShared) {
  WorkloadSpec work;
  work.busy = 0.25;
  work.interference = 0.2;
  const TrueSpeed speed(work);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "A100", .width = 0.25, .neighbours = 0.75}), 1 / 1.15);
  EXPECT_DOUBLE_EQ(speed.Of({.kind = "A100", .width = 0.25, .neighbours = 1.75}), 0.5 / 1.35);
  // Four trials that fill a device together do more work than one trial alone.
  EXPECT_GT(4 * speed.Of({.kind = "A100", .width = 0.25, .neighbours = 0.75}), 3.4);
}

TEST(TrueSpeedTest, FusedTrialsShareHydrosCurve) {
  const TrueSpeed speed{WorkloadSpec{}};
  EXPECT_DOUBLE_EQ(10 * speed.Of({.kind = "A100", .fused = 10}), 6.5);
}

TEST(TrueSpeedTest, CoresAloneKnowNothingOfDevices) {
  WorkloadSpec work;
  work.on = "";
  work.seconds_per_unit = 4;
  EXPECT_DOUBLE_EQ(TrueSpeed(work).Of({.kind = ""}), 0.25);
}

}  // namespace
}  // namespace sluice
