#include "cluster/width.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

const Demand kElastic{.cpus = 4000, .gpus = 1000, .least = 500, .most = 4000};

TEST(WidthTest, OneThatIsNotElasticHasOneWidth) {
  const Demand rigid{.cpus = 2000, .gpus = 3000};
  EXPECT_EQ(UsualWidth(rigid), 3000);
  EXPECT_EQ(LeastWidth(rigid), 3000);
  EXPECT_EQ(MostWidth(rigid), 3000);
  const Demand cores{.cpus = 2000};
  EXPECT_EQ(LeastWidth(cores), 2000);
}

TEST(WidthTest, CoresGoAlongInProportion) {
  EXPECT_EQ(AtWidth(kElastic, 4000).gpus, 4000);
  EXPECT_EQ(AtWidth(kElastic, 4000).cpus, 16'000);
  EXPECT_EQ(AtWidth(kElastic, 500).cpus, 2000);
  EXPECT_EQ(AtWidth({.cpus = 100, .gpus = 1000}, 333).cpus, 34);  // never too little
  EXPECT_EQ(AtWidth({.cpus = 1000}, 2000), (Demand{.cpus = 2000}));
}

TEST(WidthTest, AGrantIsAsWideAsWhatItHolds) {
  EXPECT_EQ(WidthOf({.node = NodeId(1), .cpus = 3000, .gpu_share = 0, .devices = {}}), 3000);
  EXPECT_EQ(WidthOf({.node = NodeId(1),
                     .cpus = 3000,
                     .gpu_share = 1000,
                     .devices = {DeviceId(0), DeviceId(2)}}),
            2000);
  EXPECT_EQ(WidthOf({.node = NodeId(1), .cpus = 3000, .gpu_share = 250, .devices = {DeviceId(0)}}),
            250);
}

TEST(WidthTest, TheWidestIsWhatOneNodeHolds) {
  Cluster cluster;
  EXPECT_EQ(WidestFit(cluster, kElastic), 500);
  cluster.Join({.name = "a", .cpus = 12'000, .devices = std::vector<Device>(4)});
  EXPECT_EQ(WidestFit(cluster, kElastic), 3000);  // four cores each
  cluster.Join({.name = "b", .cpus = 64'000, .devices = std::vector<Device>(8), .up = false});
  EXPECT_EQ(WidestFit(cluster, kElastic), 3000);
  cluster.Join({.name = "c", .cpus = 64'000, .devices = std::vector<Device>(8)});
  EXPECT_EQ(WidestFit(cluster, kElastic), 4000);  // no more than it can use
  EXPECT_EQ(WidestFit(cluster, {.cpus = 1000, .least = 1000, .most = 100'000}), 64'000);
}

TEST(WidthTest, NodesThatAreDownOfferNoWidth) {
  Cluster cluster;
  cluster.Join({.name = "a", .cpus = 8000, .devices = std::vector<Device>(2)});
  cluster.Join({.name = "b", .cpus = 8000, .devices = std::vector<Device>(4), .up = false});
  EXPECT_EQ(TotalWidth(cluster, kElastic), 2000);
  EXPECT_EQ(TotalWidth(cluster, {.cpus = 1000}), 8000);
}

TEST(WidthTest, TheFirstKindIsOfADeviceThatIsUpAndNotLent) {
  Cluster cluster;
  EXPECT_EQ(FirstKind(cluster), "");
  cluster.Join({.name = "a", .cpus = 0, .devices = {{.uuid = "", .kind = "V100"}}, .up = false});
  cluster.Join(
      {.name = "b",
       .cpus = 0,
       .devices = {{.uuid = "", .kind = "V100", .open = 500}, {.uuid = "", .kind = "H100"}}});
  EXPECT_EQ(FirstKind(cluster), "H100");
}

}  // namespace
}  // namespace sluice
