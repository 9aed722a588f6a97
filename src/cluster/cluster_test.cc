#include "cluster/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "cluster/width.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

constexpr NodeId kFirst{1};

Node NodeOf(Milli cpus, int gpus) {
  Node node{.name = "n", .cpus = cpus, .devices = {}};
  for (int i = 0; i < gpus; ++i)
    node.devices.push_back({.uuid = std::to_string(i), .kind = "H200", .memory_bytes = 1});
  return node;
}

Grant MustFit(Cluster& cluster, const Demand& demand) {
  Grant grant = FirstFit(cluster, demand);
  EXPECT_TRUE(IsSet(grant.node));
  cluster.Take(grant);
  return grant;
}

std::uint64_t DigestOf(const Cluster& cluster) {
  Digest digest;
  cluster.AddTo(digest);
  return digest.Value();
}

TEST(ClusterTest, FillsANodeAndGivesBack) {
  Cluster cluster;
  cluster.Join(NodeOf(2500, 0));
  const Demand one{.cpus = 1000, .gpus = 0};
  const Grant grant = MustFit(cluster, one);
  MustFit(cluster, one);
  EXPECT_EQ(cluster.FreeCpus(kFirst), 500);
  EXPECT_FALSE(IsSet(FirstFit(cluster, one).node));
  MustFit(cluster, {.cpus = 500, .gpus = 0});
  cluster.Release(grant);
  EXPECT_EQ(cluster.FreeCpus(kFirst), 1000);
  MustFit(cluster, one);
}

TEST(ClusterTest, ANodeThatIsDownOffersNothingAndKeepsItsBooks) {
  Cluster cluster;
  const Demand one{.cpus = 1000, .gpus = 1000};
  cluster.SetNodes({NodeOf(2000, 2), NodeOf(2000, 2)});
  const Grant first = MustFit(cluster, one);
  EXPECT_EQ(first.node, kFirst);
  Node down = NodeOf(2000, 2);
  down.up = false;
  cluster.SetNodes({down, NodeOf(2000, 2)});
  EXPECT_FALSE(cluster.Fits({.node = kFirst, .cpus = 1000, .gpu_share = 0, .devices = {}}));
  EXPECT_EQ(MustFit(cluster, one).node, NodeId(2));
  EXPECT_TRUE(FitsEmpty(cluster, one));
  cluster.SetNodes({down});  // a node that is not named is down too
  EXPECT_FALSE(IsSet(FirstFit(cluster, one).node));
  EXPECT_FALSE(FitsEmpty(cluster, one));
  cluster.SetNodes({NodeOf(2000, 2)});
  EXPECT_THAT(MustFit(cluster, one).devices, ElementsAre(DeviceId(1)));  // 0 is still taken
  cluster.Release(first);
  EXPECT_EQ(cluster.FreeCpus(kFirst), 1000);
}

TEST(ClusterTest, SharesGoToTheFullestDeviceSoThatWholeOnesStayWhole) {
  Cluster cluster;
  cluster.Join(NodeOf(10'000, 3));
  const auto share = [](Milli gpus) { return Demand{.cpus = 100, .gpus = gpus}; };
  EXPECT_THAT(MustFit(cluster, share(500)).devices, ElementsAre(DeviceId(0)));
  EXPECT_THAT(MustFit(cluster, share(700)).devices, ElementsAre(DeviceId(1)));
  EXPECT_THAT(MustFit(cluster, share(300)).devices,
              ElementsAre(DeviceId(1)));  // 300 are left there, 500 on device 0
  EXPECT_THAT(MustFit(cluster, share(500)).devices, ElementsAre(DeviceId(0)));
  EXPECT_THAT(MustFit(cluster, share(1000)).devices, ElementsAre(DeviceId(2)));
  EXPECT_FALSE(IsSet(FirstFit(cluster, share(1)).node));
}

TEST(ClusterTest, WholeDevicesAreWholeAndOfOneNode) {
  Cluster cluster;
  cluster.Join(NodeOf(1000, 2));
  cluster.Join(NodeOf(1000, 4));
  MustFit(cluster, {.cpus = 100, .gpus = 1});
  const Grant two = MustFit(cluster, {.cpus = 100, .gpus = 2000});
  EXPECT_EQ(two.node, NodeId(2));  // on the first node only one device is whole
  EXPECT_THAT(two.devices, ElementsAre(DeviceId(0), DeviceId(1)));
  EXPECT_EQ(two.gpu_share, kWhole);
  EXPECT_THAT(MustFit(cluster, {.cpus = 100, .gpus = 1000}).devices, ElementsAre(DeviceId(1)));
  EXPECT_FALSE(IsSet(FirstFit(cluster, {.cpus = 100, .gpus = 3000}).node));
  EXPECT_TRUE(FitsEmpty(cluster, {.cpus = 100, .gpus = 4000}));
  EXPECT_FALSE(FitsEmpty(cluster, {.cpus = 100, .gpus = 5000}));
  EXPECT_FALSE(FitsEmpty(cluster, {.cpus = 1001, .gpus = 0}));
}

TEST(ClusterTest, ANodeThatShrinksKeepsItsDebts) {
  Cluster cluster;
  cluster.Join(NodeOf(4000, 2));
  const Grant first = MustFit(cluster, {.cpus = 2000, .gpus = 1000});
  const Grant second = MustFit(cluster, {.cpus = 2000, .gpus = 1000});
  cluster.Change(kFirst, NodeOf(1000, 1));
  EXPECT_EQ(cluster.FreeCpus(kFirst), -3000);
  EXPECT_EQ(cluster.FreeShare(kFirst, DeviceId(1)), 0);
  EXPECT_FALSE(IsSet(FirstFit(cluster, {.cpus = 0, .gpus = 500}).node));
  cluster.Release(second);  // of a device that is gone
  EXPECT_FALSE(IsSet(FirstFit(cluster, {.cpus = 500, .gpus = 0}).node));
  cluster.Release(first);
  EXPECT_TRUE(cluster.idle());
  EXPECT_THAT(MustFit(cluster, {.cpus = 1000, .gpus = 500}).devices, ElementsAre(DeviceId(0)));
}

TEST(ClusterTest, ANodeThatGrowsIsUsed) {
  Cluster cluster;
  cluster.Join(NodeOf(1000, 0));
  cluster.Change(kFirst, NodeOf(2000, 1));
  EXPECT_THAT(MustFit(cluster, {.cpus = 2000, .gpus = 1000}).devices, ElementsAre(DeviceId(0)));
}

TEST(ClusterTest, OnlyWhatWasGrantedIsReleased) {
  Cluster cluster;
  cluster.Join(NodeOf(2000, 1));
  Grant grant = MustFit(cluster, {.cpus = 1000, .gpus = 500});
  EXPECT_FALSE(Cluster(cluster).TryRelease({}));
  EXPECT_FALSE(
      Cluster(cluster).TryRelease({.node = NodeId(2), .cpus = 0, .gpu_share = 0, .devices = {}}));
  Grant twice = grant;
  twice.devices.push_back(DeviceId(0));
  EXPECT_FALSE(Cluster(cluster).TryRelease(twice));
  twice.devices = {DeviceId(7)};
  EXPECT_FALSE(Cluster(cluster).TryRelease(twice));
  EXPECT_TRUE(Cluster(cluster).TryRelease(grant));
  EXPECT_DEATH(cluster.Take({.node = kFirst, .cpus = 1001, .gpu_share = 0, .devices = {}}),
               "never over-committed");
}

// First fit, device by device.
Grant SlowFirstFit(const Cluster& cluster, const Demand& demand) {
  for (std::uint32_t n = 1; n <= cluster.nodes().size(); ++n) {
    const NodeId node{n};
    if (cluster.FreeCpus(node) < demand.cpus) continue;
    const bool shared = demand.gpus < kWhole;
    Grant grant{.node = node,
                .cpus = demand.cpus,
                .gpu_share = shared ? demand.gpus : kWhole,
                .devices = {}};
    if (demand.gpus == 0) return grant;
    for (std::uint32_t d = 0; d < cluster.node(node).devices.size(); ++d) {
      const Milli free = cluster.FreeShare(node, DeviceId(d));
      if (shared && free >= demand.gpus &&
          (grant.devices.empty() || free < cluster.FreeShare(node, grant.devices[0])))
        grant.devices = {DeviceId(d)};
      const bool more = static_cast<Milli>(grant.devices.size()) * kWhole < demand.gpus;
      if (!shared && free == kWhole && more) grant.devices.push_back(DeviceId(d));
    }
    const std::size_t wanted = shared ? 1 : static_cast<std::size_t>(demand.gpus / kWhole);
    if (grant.devices.size() == wanted) return grant;
  }
  return {};
}

TEST(ClusterTest, FirstFitIsThatOfTheSimpleSearch) {
  int fits = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Cluster cluster;
    for (std::uint64_t left = 1 + random.Below(4); left > 0; --left)
      cluster.Join(
          NodeOf(static_cast<Milli>(random.Below(9)) * 500, static_cast<int>(random.Below(9))));
    std::vector<Grant> held;
    for (int step = 0; step < 60; ++step) {
      if (random.Chance(0.05)) {  // devices come and go, and what was granted on them stays granted
        const auto changed = NodeId(1 + random.Below(cluster.nodes().size()));
        cluster.Change(changed, NodeOf(4000, static_cast<int>(random.Below(9))));
      }
      if (!held.empty() && random.Chance(0.4)) {
        cluster.Release(held.back());
        held.pop_back();
      }
      const bool whole = random.Chance(0.5);
      const Demand demand{
          .cpus = static_cast<Milli>(random.Below(1500)),
          .gpus = static_cast<Milli>(whole ? random.Below(5) * 1000 : random.Below(1000))};
      const Grant grant = FirstFit(cluster, demand);
      ASSERT_EQ(grant, SlowFirstFit(cluster, demand)) << "seed " << seed << ", step " << step;
      if (!IsSet(grant.node)) continue;
      ++fits;
      cluster.Take(grant);
      held.push_back(grant);
    }
  }
  EXPECT_GT(fits, 1000);
}

Node NodeWithMemory(int gpus, std::int64_t memory_bytes) {
  Node node = NodeOf(100'000, gpus);
  for (Device& device : node.devices) device.memory_bytes = memory_bytes;
  return node;
}

TEST(ClusterTest, MemoryAndBandwidthAreKeptToo) {
  Cluster cluster;
  cluster.Join(NodeWithMemory(2, 10));
  const Demand big{.cpus = 0, .gpus = 100, .memory_bytes = 6};
  EXPECT_THAT(MustFit(cluster, big).devices, ElementsAre(DeviceId(0)));
  EXPECT_THAT(MustFit(cluster, big).devices, ElementsAre(DeviceId(1)));
  EXPECT_FALSE(IsSet(FirstFit(cluster, big).node));
  const Demand wide{.cpus = 0, .gpus = 100, .memory_bytes = 1, .bandwidth = 600};
  EXPECT_THAT(MustFit(cluster, wide).devices, ElementsAre(DeviceId(0)));
  const Grant second = MustFit(cluster, wide);
  EXPECT_THAT(second.devices, ElementsAre(DeviceId(1)));
  EXPECT_FALSE(IsSet(FirstFit(cluster, wide).node));
  cluster.Release(second);
  EXPECT_EQ(FirstFit(cluster, wide), second);
  EXPECT_FALSE(FitsEmpty(cluster, {.cpus = 0, .gpus = 100, .memory_bytes = 11}));
  EXPECT_TRUE(FitsEmpty(cluster, {.cpus = 0, .gpus = 2000, .memory_bytes = 10}));
  EXPECT_FALSE(FitsEmpty(cluster, {.cpus = 0, .gpus = 2000, .memory_bytes = 11}));
}

TEST(ClusterTest, ADeviceServesSoManyClients) {
  Cluster cluster;
  cluster.Join(NodeOf(100'000, 1));
  const Demand tiny{.cpus = 0, .gpus = 1};
  for (int i = 0; i < kMostClients; ++i) MustFit(cluster, tiny);
  EXPECT_FALSE(IsSet(FirstFit(cluster, tiny).node));
}

TEST(ClusterTest, WhatATrialTakesMayDifferFromKindToKind) {
  Cluster cluster;
  Node node = NodeOf(8000, 2);
  node.devices[0].kind = "A100";
  cluster.Join(node);
  const std::vector<KindNeed> measured = {{"A100", {.gpus = 600, .bandwidth = 500}},
                                          {"H200", {.gpus = 300, .bandwidth = 100}}};
  const Demand demand{
      .cpus = 0, .gpus = 1000, .kinds = std::make_shared<const std::vector<KindNeed>>(measured)};
  const Grant first = MustFit(cluster, demand);
  EXPECT_THAT(first.devices, ElementsAre(DeviceId(0)));
  EXPECT_EQ(first.gpu_share, 600);
  EXPECT_EQ(first.bandwidth, 500);
  const Grant second = MustFit(cluster, demand);
  EXPECT_THAT(second.devices, ElementsAre(DeviceId(1)));
  EXPECT_EQ(second.gpu_share, 300);
  EXPECT_THAT(MustFit(cluster, demand).devices, ElementsAre(DeviceId(1)));
  EXPECT_THAT(MustFit(cluster, demand).devices, ElementsAre(DeviceId(1)));
  EXPECT_FALSE(IsSet(FirstFit(cluster, demand).node));
}

TEST(ClusterTest, ABundleHoldsItsDevicesOnceAndMemoryForEach) {
  Cluster cluster;
  cluster.Join(NodeWithMemory(1, 10));
  const BundleId bundle = cluster.NewBundle();
  const Grant member{.node = kFirst,
                     .cpus = 4000,
                     .gpu_share = kWhole,
                     .memory_bytes = 2,
                     .devices = {DeviceId(0)},
                     .bundle = bundle,
                     .program_bytes = 3};
  for (int i = 1; i <= 3; ++i) {
    cluster.Take(member);
    EXPECT_EQ(cluster.BundleSize(bundle), i);
    EXPECT_EQ(cluster.FreeCpus(kFirst), 96'000);
    EXPECT_EQ(cluster.Used(kFirst)[0],
              (DeviceUse{.share = kWhole, .memory_bytes = 3 + 2 * i, .clients = 1}));
  }
  EXPECT_FALSE(cluster.Fits(member)) << "one more would need 11 of 10";
  EXPECT_NE(cluster.NewBundle(), bundle);

  StateWriter writer;
  cluster.Save(writer);
  Cluster loaded;
  StateReader reader(writer.bytes());
  ASSERT_TRUE(loaded.Load(reader));
  EXPECT_EQ(DigestOf(loaded), DigestOf(cluster));
  for (int left = 2; left >= 0; --left) {
    loaded.Release(member);
    EXPECT_EQ(loaded.BundleSize(bundle), left);
  }
  EXPECT_TRUE(loaded.idle());
  EXPECT_FALSE(loaded.TryRelease(member));
}

TEST(ClusterTest, ACopyGoesItsOwnWay) {
  Cluster cluster;
  cluster.Join(NodeOf(2000, 1));
  Cluster copy = cluster;
  MustFit(copy, {.cpus = 1000, .gpus = 1000});
  copy.Change(kFirst, NodeOf(3000, 4));
  copy.Join(NodeOf(1000, 0));
  EXPECT_TRUE(cluster.idle());
  EXPECT_EQ(cluster.nodes().size(), 1U);
  EXPECT_EQ(cluster.node(kFirst), NodeOf(2000, 1));
  EXPECT_EQ(copy.FreeCpus(kFirst), 2000);
}

TEST(ClusterTest, NeverOverCommitsAndSurvivesASnapshot) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Cluster cluster;
    for (std::uint64_t i = 0; i <= random.Below(3); ++i) {
      cluster.Join(
          NodeOf(static_cast<Milli>(random.Below(8)) * 500, static_cast<int>(random.Below(4))));
    }
    std::vector<Grant> held;
    for (int step = 0; step < 100; ++step) {
      if (!held.empty() && random.Chance(0.4)) {
        const std::size_t i = random.Below(held.size());
        cluster.Release(held[i]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        const bool whole = random.Chance(0.3);
        const Grant grant = FirstFit(
            cluster,
            {.cpus = static_cast<Milli>(random.Below(1500)),
             .gpus = static_cast<Milli>(whole ? random.Below(4) * 1000 : random.Below(1000))});
        if (!IsSet(grant.node)) continue;
        cluster.Take(grant);
        held.push_back(grant);
      }
      for (std::uint32_t n = 1; n <= cluster.nodes().size(); ++n) {
        ASSERT_GE(cluster.FreeCpus(NodeId(n)), 0);
        for (std::uint32_t d = 0; d < cluster.node(NodeId(n)).devices.size(); ++d) {
          ASSERT_GE(cluster.FreeShare(NodeId(n), DeviceId(d)), 0);
        }
      }
    }
    StateWriter writer;
    cluster.Save(writer);
    Cluster loaded;
    StateReader reader(writer.bytes());
    ASSERT_TRUE(loaded.Load(reader));
    ASSERT_TRUE(reader.Finish());
    EXPECT_EQ(DigestOf(loaded), DigestOf(cluster));
    for (const Grant& grant : held) loaded.Release(grant);
    EXPECT_TRUE(loaded.idle());
    // Load refuses every prefix of the saved state.
    for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
      StateReader cut(std::string_view(writer.bytes()).substr(0, size));
      EXPECT_FALSE(Cluster().Load(cut) && cut.Finish());
    }
  }
}

TEST(ClusterTest, HiddenDevicesHaveNothingFree) {
  Cluster cluster;
  Node node{.name = "one", .cpus = 8000, .devices = {}};
  for (const std::string uuid : {"a", "b", "c"})
    node.devices.push_back({.uuid = uuid, .kind = "H200", .memory_bytes = 100});
  cluster.Join(node);
  const NodeId id{1};
  const Grant mine{.node = id, .cpus = 1000, .gpu_share = 250, .devices = {DeviceId(1)}};
  cluster.Take(mine);
  Cluster part = cluster.Hiding({"a", "b", "not there"});
  EXPECT_EQ(part.FreeShare(id, DeviceId(0)), 0);
  EXPECT_EQ(part.FreeShare(id, DeviceId(1)), 0);
  EXPECT_EQ(part.FreeShare(id, DeviceId(2)), kWhole);
  EXPECT_EQ(part.FreeCpus(id), 7000);
  part.Release(mine);
  EXPECT_LT(part.FreeShare(id, DeviceId(1)), kWhole);
  EXPECT_EQ(cluster.Hiding({}).FreeShare(id, DeviceId(0)), kWhole);
}

TEST(ClusterTest, APartLacksWhatOthersHave) {
  Cluster cluster;
  Node node{.name = "one", .cpus = 8000, .devices = {}};
  for (int d = 0; d < 4; ++d)
    node.devices.push_back({.uuid = "", .kind = "H200", .memory_bytes = 100});
  node.devices[3].open = 500;  // lent
  cluster.Join(node);
  const NodeId id{1};
  const Grant mine{.node = id, .cpus = 1000, .gpu_share = 250, .devices = {DeviceId(1)}};
  const Grant whole{.node = id, .cpus = 2000, .gpu_share = 1000, .devices = {DeviceId(0)}};
  const Grant lent{.node = id, .cpus = 0, .gpu_share = 1000, .devices = {DeviceId(3)}};
  const Grant share{
      .node = id, .cpus = 1000, .gpu_share = 250, .memory_bytes = 60, .devices = {DeviceId(1)}};
  Cluster others = cluster;
  for (const Grant& grant : {whole, lent, share}) {
    cluster.Take(grant);
    others.Take(grant);
  }
  cluster.Take(mine);
  const Cluster part = cluster.Without(others);
  EXPECT_EQ(part.node(id).cpus, 5000);
  EXPECT_EQ(part.FreeCpus(id), 4000);
  EXPECT_FALSE(part.node(id).devices[0].IsOwn());
  EXPECT_FALSE(part.node(id).devices[0].IsLent());
  EXPECT_TRUE(part.node(id).devices[1].IsOwn());
  EXPECT_TRUE(part.node(id).devices[3].IsLent()) << "its node is still for lent devices only";
  EXPECT_EQ(part.FreeShare(id, DeviceId(1)), 500);
  const Cluster emptied = part.Emptied();
  EXPECT_EQ(emptied.FreeCpus(id), 5000);
  EXPECT_EQ(emptied.FreeShare(id, DeviceId(0)), 0);
  EXPECT_EQ(emptied.FreeShare(id, DeviceId(1)), 750);
  EXPECT_EQ(emptied.FreeShare(id, DeviceId(2)), 1000);
  EXPECT_EQ(emptied.Used(id)[1].memory_bytes, 60);
  EXPECT_TRUE(Cluster().Emptied().idle());
  EXPECT_EQ(TotalWidth(part, Demand{.gpus = kWhole}), 2 * kWhole);
}

}  // namespace
}  // namespace sluice
