#include "sim/world/device_usage.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::seconds;

// Two devices and 8 cores.
const std::vector<Node>& UsedNodes() {
  static const auto& nodes = *new std::vector<Node>{
      {.name = "a",
       .cpus = 8 * kWhole,
       .devices = {{.uuid = "gpu0", .kind = "A100"}, {.uuid = "gpu1", .kind = "A100"}}}};
  return nodes;
}

SimulatedLaunch LaunchWith(Grant grant) {
  SimulatedLaunch launch;
  launch.trial = {StudyId(1), TrialId(3)};
  launch.phase = Phase::kRun;
  launch.grant = std::move(grant);
  launch.grant.node = NodeId(1);
  return launch;
}

TEST(DeviceUsageTest, CountsDeviceSecondsByShare) {
  const SharedDevices devices(UsedNodes());
  DeviceUsage usage(devices, /*record_intervals=*/true);
  SimulatedLaunch launch =
      LaunchWith({.cpus = kWhole, .gpu_share = 500, .devices = {DeviceId(0), DeviceId(1)}});
  usage.Hold(launch.grant, Time{});
  usage.EndPhase(launch, Time(seconds(10)));
  launch.phase = Phase::kSave;
  usage.EndPhase(launch, Time(seconds(12)));
  usage.EndPhase(launch, Time(seconds(12)));  // a phase of no length
  usage.LetGo(launch.grant, Time(seconds(12)));
  const Usage used = usage.Take();
  EXPECT_DOUBLE_EQ(used.device_seconds[1], 10);
  EXPECT_DOUBLE_EQ(used.device_seconds[2], 2);
  EXPECT_EQ(used.most_shares, kWhole);
  ASSERT_EQ(used.intervals.size(), 4U) << "a phase on a device each";
  EXPECT_EQ(used.intervals[1].row, 1U);
  EXPECT_EQ(used.intervals[1].share, 500);
  EXPECT_EQ(used.intervals[3].begin, Time(seconds(10)));
  EXPECT_EQ(used.intervals[3].end, Time(seconds(12)));
}

TEST(DeviceUsageTest, WithoutDevicesCoresCount) {
  const SharedDevices devices(UsedNodes());
  DeviceUsage usage(devices, /*record_intervals=*/true);
  SimulatedLaunch launch = LaunchWith({.cpus = 2 * kWhole, .gpu_share = 0, .devices = {}});
  usage.Hold(launch.grant, Time{});
  usage.EndPhase(launch, Time(seconds(10)));
  const Usage used = usage.Take();
  EXPECT_DOUBLE_EQ(used.core_seconds[1], 20);
  EXPECT_DOUBLE_EQ(used.device_seconds[1], 0);
  ASSERT_EQ(used.intervals.size(), 1U);
  EXPECT_EQ(used.intervals[0].row, 2U) << "the node comes after the devices";
}

// A bundle of two launches with this grant: from 0 to 10 s, and from 5 s to 30 s.
Usage UsedByBundle(Grant grant) {
  const SharedDevices devices(UsedNodes());
  DeviceUsage usage(devices, /*record_intervals=*/false);
  grant.bundle = BundleId(1);
  SimulatedLaunch one = LaunchWith(grant);
  SimulatedLaunch two = LaunchWith(grant);
  usage.Hold(one.grant, Time{});
  usage.Hold(two.grant, Time(seconds(5)));
  usage.EndPhase(one, Time(seconds(10)));
  usage.LetGo(one.grant, Time(seconds(10)));
  usage.EndPhase(two, Time(seconds(30)));
  usage.LetGo(two.grant, Time(seconds(30)));
  return usage.Take();
}

TEST(DeviceUsageTest, ABundleHoldsItsDeviceOnceFromItsFirstLaunchToItsLast) {
  const Usage used = UsedByBundle({.cpus = kWhole, .gpu_share = kWhole, .devices = {DeviceId(0)}});
  EXPECT_DOUBLE_EQ(used.device_seconds[1], 30);
  EXPECT_DOUBLE_EQ(used.core_seconds[1], 0);
  EXPECT_EQ(used.most_shares, kWhole);
  EXPECT_TRUE(used.intervals.empty()) << "they were not asked for";
}

TEST(DeviceUsageTest, ABundleHoldsItsCoresOnceToo) {
  const Usage used = UsedByBundle({.cpus = 2 * kWhole, .gpu_share = 0, .devices = {}});
  EXPECT_DOUBLE_EQ(used.core_seconds[1], 60);
  EXPECT_DOUBLE_EQ(used.device_seconds[1], 0);
  EXPECT_EQ(used.most_shares, 0);
}

}  // namespace
}  // namespace sluice
