#include "policy/fusion.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t kGB = 1'000'000'000;

StudyView StudyOf(const Demand& demand) {
  return {.study = StudyId(1), .demand = demand, .shape = "resnet18"};
}

Device DeviceOf(std::int64_t memory_bytes) {
  return {.uuid = "g", .kind = "A100", .memory_bytes = memory_bytes};
}

TEST(FusionTest, AsManyAsMemoryHoldsLessAMargin) {
  const SpeedModel speeds;
  const StudyView study =
      StudyOf({.gpus = 1000, .memory_bytes = 2 * kGB, .fused_most = 1000, .fused_bytes = kGB});
  const Fusion fusion(speeds, study);
  EXPECT_EQ(fusion.MostOn(DeviceOf(20 * kGB)), 18) << "19 of 20 GB: 1 + (19 - 2) / 1";
  EXPECT_EQ(fusion.MostOn(DeviceOf(3 * kGB)), 1);
  EXPECT_EQ(fusion.MostOn(DeviceOf(2 * kGB)), 1) << "alone it needs no margin";
  EXPECT_EQ(fusion.MostOn(DeviceOf(2 * kGB - 1)), 0);
}

TEST(FusionTest, NoMoreThanTheKneeOfThroughput) {
  const SpeedModel speeds;
  const StudyView study =
      StudyOf({.gpus = 1000, .memory_bytes = 2, .fused_most = 1000, .fused_bytes = 1});
  const Fusion fusion(speeds, study);
  // Hydro measured 15.9 times the throughput with 100 trials, and hardly more with 220.
  EXPECT_EQ(fusion.knee(), 128);
  EXPECT_EQ(fusion.MostOn(DeviceOf(20 * kGB)), 128);
  EXPECT_NEAR(fusion.Throughput(10), 6.5, 1e-9);
  EXPECT_NEAR(fusion.Throughput(1), 1, 1e-9);
  const StudyView few =
      StudyOf({.gpus = 1000, .memory_bytes = 2, .fused_most = 20, .fused_bytes = 1});
  EXPECT_EQ(Fusion(speeds, few).knee(), 20);
}

TEST(FusionTest, ADeviceThatIsLentIsAsQuickAsItIsOpenUntilItWasMeasured) {
  SpeedModel speeds;
  const StudyView study = StudyOf({.gpus = 1000, .memory_bytes = 2, .fused_most = 16});
  Device lent = DeviceOf(kGB);
  lent.open = 200;
  EXPECT_DOUBLE_EQ(Fusion(speeds, study).Quickness(lent, 4), 0.2);
  EXPECT_DOUBLE_EQ(Fusion(speeds, study).Quickness(DeviceOf(kGB), 4), 1);
  for (int i = 0; i < 64; ++i) {
    speeds.Learn({.shape = "resnet18", .kind = "A100", .fused = 4}, 1, 1);
    speeds.Learn({.shape = "resnet18", .kind = lent.kind, .lent = true, .fused = 4}, 1, 8);
  }
  EXPECT_NEAR(Fusion(speeds, study).Quickness(lent, 4), 1.0 / 8, 0.01);
}

TEST(FusionTest, OnCoresTheFileSaysHowManyUntilTheirSpeedIsMeasured) {
  SpeedModel speeds;
  const StudyView study = StudyOf({.cpus = 2000, .fused_most = 100});
  EXPECT_EQ(Fusion(speeds, study).knee(), 100);
  EXPECT_DOUBLE_EQ(Fusion(speeds, study).Throughput(16), 16);
  // More than eight trials together do no more work than eight.
  for (int i = 0; i < 64; ++i) {
    speeds.Learn({.shape = "resnet18", .kind = "", .width = 2000}, 1, 1);
    speeds.Learn({.shape = "resnet18", .kind = "", .width = 2000, .fused = 8}, 1, 1);
    speeds.Learn({.shape = "resnet18", .kind = "", .width = 2000, .fused = 16}, 1, 2);
    speeds.Learn({.shape = "resnet18", .kind = "", .width = 2000, .fused = 64}, 1, 8);
  }
  EXPECT_NEAR(Fusion(speeds, study).Throughput(16), 8, 0.5);
  EXPECT_EQ(Fusion(speeds, study).knee(), 8);
}

TEST(FusionTest, OnDevicesMeasurementsTakeThePlaceOfTheTable) {
  SpeedModel speeds;
  const StudyView study =
      StudyOf({.gpus = 1000, .memory_bytes = 2, .fused_most = 64, .fused_bytes = 1});
  EXPECT_EQ(Fusion(speeds, study).knee(), 64);
  // Four trials together do no more work than two.
  for (int i = 0; i < 16; ++i) {
    speeds.Learn({.shape = "resnet18", .kind = "H200"}, 1, 1);
    speeds.Learn({.shape = "resnet18", .kind = "H200", .fused = 2}, 1, 1);
    speeds.Learn({.shape = "resnet18", .kind = "H200", .fused = 4}, 1, 2);
  }
  EXPECT_NEAR(Fusion(speeds, study).Throughput(2), 2, 0.05);
  EXPECT_NEAR(Fusion(speeds, study).Throughput(4), 2, 0.05);
  EXPECT_EQ(Fusion(speeds, study).knee(), 2);
  // Measurements on a lent device say nothing about devices that are not lent.
  SpeedModel lent;
  lent.Learn({.shape = "resnet18", .kind = "H200", .lent = true, .fused = 4}, 1, 100);
  EXPECT_EQ(Fusion(lent, study).knee(), 64);
}

TEST(FusionTest, NoMoreThanAProcessTakes) {
  const SpeedModel speeds;
  StudyView study = StudyOf({.gpus = 1000, .memory_bytes = 2, .fused_most = 100, .fused_bytes = 1});
  study.capacity = 12;
  EXPECT_EQ(MostFused(study), 12);
  EXPECT_EQ(Fusion(speeds, study).knee(), 12);
  EXPECT_EQ(Fusion(speeds, study).MostOn(DeviceOf(kGB)), 12);
  study.capacity = 1000;
  EXPECT_EQ(MostFused(study), 100);
}

TEST(FusionTest, AMemberOnCoresHoldsTheCoresOfOneTrialWithTheOthers) {
  const SpeedModel speeds;
  const StudyView study = StudyOf({.cpus = 2000, .fused_most = 4});
  EXPECT_EQ(Fusion(speeds, study).GrantOnCores(NodeId(3), BundleId(7)),
            (Grant{.node = NodeId(3), .cpus = 2000, .devices = {}, .bundle = BundleId(7)}));
}

TEST(FusionTest, AMemberHoldsADeviceWithTheOthersAndItsOwnMemory) {
  const SpeedModel speeds;
  const StudyView study =
      StudyOf({.cpus = 4000, .gpus = 500, .memory_bytes = 10, .fused_most = 4, .fused_bytes = 3});
  const Grant grant = Fusion(speeds, study).GrantOn(NodeId(1), DeviceId(2), BundleId(7));
  EXPECT_EQ(grant, (Grant{.node = NodeId(1),
                          .cpus = 4000,
                          .gpu_share = kWhole,
                          .memory_bytes = 3,
                          .devices = {DeviceId(2)},
                          .bundle = BundleId(7),
                          .program_bytes = 7}));
}

}  // namespace
}  // namespace sluice
