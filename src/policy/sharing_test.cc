#include "policy/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Cluster ClusterOf(Milli cpus, int gpus = 0, int nodes = 1) {
  Cluster cluster;
  for (int n = 0; n < nodes; ++n) {
    Node node{.name = "node" + std::to_string(n), .cpus = cpus, .devices = {}};
    for (int d = 0; d < gpus; ++d)
      node.devices.push_back({.uuid = "", .kind = "H200", .memory_bytes = 1 << 30});
    cluster.Join(node);
  }
  return cluster;
}

Sharer SharerOf(std::uint32_t study, int wants, double had = 0, double weight = 1,
                const Demand& demand = {}) {
  static std::deque<Demand> kept;
  return {.study = StudyId(study),
          .weight = weight,
          .had = had,
          .seconds = 1,
          .demand = &kept.emplace_back(demand),
          .wants = wants};
}

std::vector<std::uint32_t> Order(const std::vector<Reservation>& reserved) {
  std::vector<std::uint32_t> order;
  for (const Reservation& each : reserved) order.push_back(Number(each.study));
  return order;
}

TEST(SharingTest, TheStudyFurthestBelowItsPartIsFirst) {
  const Cluster cluster = ClusterOf(3 * kWhole);
  EXPECT_THAT(Order(Divide(cluster, {SharerOf(1, 9), SharerOf(2, 9)})), ElementsAre(1, 2, 1));
  EXPECT_THAT(Order(Divide(cluster, {SharerOf(1, 9, /*had=*/5), SharerOf(2, 9)})),
              ElementsAre(2, 2, 2));
  EXPECT_THAT(Order(Divide(cluster, {SharerOf(1, 9, /*had=*/2, /*weight=*/4), SharerOf(2, 9, 1)})),
              ElementsAre(1, 1, 1));
}

TEST(SharingTest, AStudyGetsNoMoreThanItWants) {
  const Cluster cluster = ClusterOf(4 * kWhole);
  EXPECT_THAT(Order(Divide(cluster, {SharerOf(1, 1), SharerOf(2, 2)})), ElementsAre(1, 2, 2));
  EXPECT_THAT(Divide(cluster, {SharerOf(1, 0)}), IsEmpty());
  EXPECT_THAT(Divide(cluster, {SharerOf(1, 1, 0, /*weight=*/0)}), IsEmpty());
}

TEST(SharingTest, WhatIsTakenIsNotDivided) {
  Cluster cluster = ClusterOf(2 * kWhole);
  cluster.Take({.node = NodeId(1), .cpus = kWhole, .devices = {}});
  EXPECT_THAT(Order(Divide(cluster, {SharerOf(1, 9), SharerOf(2, 9)})), ElementsAre(1));
}

TEST(SharingTest, TooLittleForAWideTrialIsKeptUntilThereIsEnough) {
  const Demand wide{.cpus = kWhole, .gpus = 4 * kWhole};
  const Demand narrow{.cpus = kWhole, .gpus = kWhole};
  Cluster cluster = ClusterOf(16 * kWhole, 4);
  cluster.Take({.node = NodeId(1), .cpus = kWhole, .gpu_share = kWhole, .devices = {DeviceId(2)}});
  const auto reserved =
      Divide(cluster, {SharerOf(1, 1, 0, 1, wide), SharerOf(2, 9, /*had=*/1, 1, narrow)});
  ASSERT_THAT(Order(reserved), ElementsAre(1));
  EXPECT_THAT(reserved[0].grant.devices, ElementsAre(DeviceId(0), DeviceId(1), DeviceId(3)));
  // Once the other is further below, it goes first.
  EXPECT_THAT(
      Order(Divide(cluster, {SharerOf(1, 1, /*had=*/9, 1, wide), SharerOf(2, 9, 1, 1, narrow)})),
      ElementsAre(2, 2, 2));
}

TEST(SharingTest, RoomForAWideTrialIsKeptOnOneNodeThatCouldHoldIt) {
  const Demand wide{.cpus = 8 * kWhole};
  Cluster cluster = ClusterOf(8 * kWhole);
  cluster.Join({.name = "small", .cpus = 4 * kWhole, .devices = {}});
  cluster.Take({.node = NodeId(1), .cpus = 6 * kWhole, .devices = {}});
  const auto reserved = Divide(cluster, {SharerOf(1, 1, 0, 1, wide), SharerOf(2, 9)});
  EXPECT_THAT(Order(reserved), ElementsAre(1, 2, 2, 2, 2));
  EXPECT_EQ(reserved[0].grant.node, NodeId(1));
  EXPECT_EQ(reserved[0].grant.cpus, 2 * kWhole);
}

TEST(SharingTest, AStudyThatFitsNowhereKeepsNothing) {
  const Demand never{.cpus = 9 * kWhole};
  EXPECT_THAT(Order(Divide(ClusterOf(2 * kWhole), {SharerOf(1, 1, 0, 1, never), SharerOf(2, 9)})),
              ElementsAre(2, 2));
}

TEST(SharingTest, SharesOfADeviceAreDividedToo) {
  const Demand half{.cpus = kWhole, .gpus = kWhole / 2};
  const auto reserved =
      Divide(ClusterOf(16 * kWhole, 1), {SharerOf(1, 9, 0, 1, half), SharerOf(2, 9, 0, 1, half)});
  EXPECT_THAT(Order(reserved), ElementsAre(1, 2));
}

TEST(SharingTest, PartsAreOfDevicesOrOfCores) {
  const ClusterSize size(ClusterOf(8 * kWhole, 4, 2));
  EXPECT_DOUBLE_EQ(size.PartOf({.cpus = 4 * kWhole, .gpus = 0}), 0.25);
  EXPECT_DOUBLE_EQ(size.PartOf({.cpus = kWhole, .gpus = 2 * kWhole}), 0.25);
  EXPECT_DOUBLE_EQ(ClusterSize(Cluster()).PartOf({.cpus = kWhole, .gpus = kWhole}), 0);
}

// Whatever the studies: no more is kept than is free, a study that wants more than it has got is
// never passed over for one that is further above its part, and the order of studies is of no
// matter.
TEST(SharingTest, HoldsForDrawnStudies) {
  std::mt19937_64 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    Cluster cluster = ClusterOf((1 + below(8)) * kWhole, below(5), 1 + below(3));
    std::vector<Sharer> sharers;
    for (int i = 1 + below(6); i > 0; --i) {
      const Demand demand{.cpus = (1 + below(3)) * kWhole / 2, .gpus = below(3) * kWhole / 2};
      Sharer sharer =
          SharerOf(static_cast<std::uint32_t>(i), below(5), below(10), 1 + below(3), demand);
      sharer.seconds = 0.1 + below(20);
      sharers.push_back(std::move(sharer));
    }
    const auto reserved = Divide(cluster, sharers);
    Cluster left = cluster;
    std::map<StudyId, int> got;
    for (const Reservation& each : reserved) {
      left.Take(each.grant);  // checks that it fits
      ++got[each.study];
    }
    for (const Sharer& sharer : sharers) {
      EXPECT_LE(got[sharer.study], sharer.wants);
      if (got[sharer.study] >= sharer.wants) continue;
      EXPECT_FALSE(IsSet(FirstFit(left, *sharer.demand).node)) << "room is left that a study wants";
    }
    std::ranges::shuffle(sharers, random);
    EXPECT_EQ(Order(Divide(cluster, sharers)), Order(reserved));
  }
}

}  // namespace
}  // namespace sluice
