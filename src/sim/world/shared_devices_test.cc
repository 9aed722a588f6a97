#include "sim/world/shared_devices.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;
constexpr DeviceId kFirst{0};

std::vector<Node> TwoDevices() {
  Node node{.name = "a", .cpus = 8 * kWhole, .devices = {}};
  for (const char* uuid : {"a-gpu0", "a-gpu1"})
    node.devices.push_back({.uuid = uuid, .kind = "A100", .memory_bytes = 40 * kGb});
  return {node};
}

Grant On(std::vector<DeviceId> devices, BundleId bundle = {}) {
  Grant grant{
      .node = NodeId(1), .cpus = kWhole, .gpu_share = kWhole, .devices = std::move(devices)};
  grant.bundle = bundle;
  return grant;
}

// A launch of a bundle. Its program takes 2 GB with one launch, and 0.5 GB for each further launch.
Tenant Member(std::uint32_t slot, BundleId bundle) {
  return {.slot = slot,
          .busy = 0.3,
          .bandwidth = 0.2,
          .bytes = kGb / 2,
          .bundle = bundle,
          .program_bytes = 3 * kGb / 2};
}

TEST(SharedDevicesTest, ABundlesProgramTakesItsMemoryOnceUntilTheLastLeaves) {
  const std::vector<Node> nodes = TwoDevices();
  SharedDevices devices(nodes);
  const BundleId bundle{1};
  const Grant grant = On({kFirst}, bundle);
  EXPECT_FALSE(devices.Has(grant));
  for (std::uint32_t slot = 0; slot < 3; ++slot) devices.Join(grant, Member(slot, bundle));
  EXPECT_TRUE(devices.Has(grant));
  EXPECT_EQ(devices.Fused(grant, Member(0, bundle)), 3);
  EXPECT_EQ(devices.FreeBytes(grant, kFirst), 40 * kGb - 3 * kGb);

  devices.Part(grant, Member(0, bundle));  // the program stays when its first launch leaves
  EXPECT_EQ(devices.Fused(grant, Member(1, bundle)), 2);
  EXPECT_EQ(devices.FreeBytes(grant, kFirst), 40 * kGb - 5 * kGb / 2);
  devices.Part(grant, Member(2, bundle));
  devices.Part(grant, Member(1, bundle));
  EXPECT_FALSE(devices.Has(grant));
  EXPECT_EQ(devices.FreeBytes(grant, kFirst), 40 * kGb);
}

TEST(SharedDevicesTest, BundlesAreProgramsOfTheirOwn) {
  const std::vector<Node> nodes = TwoDevices();
  SharedDevices devices(nodes);
  const Grant one = On({kFirst}, BundleId(1));
  const Grant two = On({kFirst}, BundleId(2));
  devices.Join(one, Member(0, BundleId(1)));
  EXPECT_FALSE(devices.Has(two));
  devices.Join(two, Member(1, BundleId(2)));
  EXPECT_EQ(devices.FreeBytes(one, kFirst), 40 * kGb - 4 * kGb);
  EXPECT_EQ(devices.Fused(one, Member(0, BundleId(1))), 1);
}

TEST(SharedDevicesTest, LaunchesOnCoresShareOnlyTheProgramOfTheirBundle) {
  const std::vector<Node> nodes = TwoDevices();
  SharedDevices devices(nodes);
  const Grant one = On({}, BundleId(1));
  const Grant two = On({}, BundleId(2));
  devices.Join(On({}), {.slot = 0});
  devices.Join(one, Member(1, BundleId(1)));
  devices.Join(one, Member(2, BundleId(1)));
  devices.Join(two, Member(3, BundleId(2)));
  EXPECT_EQ(devices.Fused(one, Member(1, BundleId(1))), 2);
  EXPECT_EQ(devices.Fused(two, Member(3, BundleId(2))), 1);
  std::vector<std::uint32_t> others;
  const auto visit = [&](std::uint32_t slot) { others.push_back(slot); };
  devices.ForOthers(one, 1, visit);
  devices.ForOthers(On({}), 0, visit);
  EXPECT_EQ(others, std::vector<std::uint32_t>{2});
  devices.Part(one, Member(2, BundleId(1)));
  EXPECT_EQ(devices.Fused(one, Member(1, BundleId(1))), 1);
}

TEST(SharedDevicesTest, ALaunchDoesNotDisturbItsOwnBundle) {
  const std::vector<Node> nodes = TwoDevices();
  SharedDevices devices(nodes);
  const Tenant member = Member(0, BundleId(1));
  const Grant grant = On({kFirst}, BundleId(1));
  devices.Join(grant, member);
  devices.Join(grant, Member(1, BundleId(1)));
  EXPECT_DOUBLE_EQ(devices.Neighbours(grant, member).busy, 0);
  EXPECT_DOUBLE_EQ(devices.Neighbours(grant, member).bandwidth, 0);

  const Tenant guest{.slot = 2, .busy = 0.4, .bandwidth = 0.1, .bytes = kGb};
  devices.Join(On({kFirst}), guest);
  EXPECT_DOUBLE_EQ(devices.Neighbours(grant, member).busy, 0.4);
  EXPECT_DOUBLE_EQ(devices.Neighbours(grant, member).bandwidth, 0.1);
  EXPECT_EQ(devices.Fused(On({kFirst}), guest), 1);
}

TEST(SharedDevicesTest, OfSeveralDevicesTheFullestCounts) {
  const std::vector<Node> nodes = TwoDevices();
  SharedDevices devices(nodes);
  const Tenant wide{.slot = 0, .busy = 1, .bandwidth = 0.5, .bytes = kGb};
  const Grant both = On({DeviceId(0), DeviceId(1)});
  devices.Join(both, wide);
  devices.Join(On({DeviceId(0)}), {.slot = 1, .busy = 0.2, .bandwidth = 0.6, .bytes = kGb});
  devices.Join(On({DeviceId(1)}), {.slot = 2, .busy = 0.3, .bandwidth = 0.1, .bytes = 2 * kGb});
  EXPECT_DOUBLE_EQ(devices.Neighbours(both, wide).busy, 0.3);
  EXPECT_DOUBLE_EQ(devices.Neighbours(both, wide).bandwidth, 0.6);
  EXPECT_EQ(devices.FreeBytes(both, DeviceId(1)), 37 * kGb);
}

}  // namespace
}  // namespace sluice
