#include "policy/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Demand kQuarterToEight{.cpus = 1000, .gpus = 1000, .least = 250, .most = 8000};

std::vector<std::string> Listed(const std::vector<Placement>& placements) {
  Plan plan;
  plan.placements = placements;
  return TestViews::Placed(plan);
}

TEST(PlacerTest, ATrialAtItsWidthStaysWhereItIs) {
  TestViews t(4);
  t.Study(1, kQuarterToEight);
  t.Running(1, 1, 1, 1000);
  t.Running(1, 2, 1, 1000);
  const auto placed = Place(t.cluster, {{&t.view.items[1], 1000}, {&t.view.items[0], 2000}});
  EXPECT_THAT(Listed(placed), ElementsAre("2:1", "1:2"));
  EXPECT_EQ(placed[0].grant, *t.view.items[1].grant);
  EXPECT_THAT(placed[1].grant.devices, ElementsAre(DeviceId(0), DeviceId(2)));
}

TEST(PlacerTest, TrialsBehindOneThatFindsNoRoomAreTried) {
  TestViews t(3);
  t.Study(1, kQuarterToEight);
  for (std::uint32_t trial : {1, 2, 3}) t.Waiting(1, trial, 1);
  const auto& items = t.view.items;
  EXPECT_THAT(Listed(Place(t.cluster, {{&items[0], 2000}, {&items[1], 2000}, {&items[2], 1000}})),
              ElementsAre("1:2", "3:1"));
}

TEST(PlacerTest, TheFirstInOrderIsLetInBeforeOneThatRuns) {
  TestViews t(2);
  t.Study(1, kQuarterToEight);
  t.Running(1, 1, 1, 1000);
  t.Waiting(1, 2, 1);
  EXPECT_THAT(Listed(Place(t.cluster, {{&t.view.items[1], 2000}, {&t.view.items[0], 1000}})),
              ElementsAre("2:2"));
}

TEST(PlacerTest, ATrialThatDoesNotFitAtItsWidthIsNarrower) {
  TestViews t(4);
  t.Study(1, kQuarterToEight);
  // Each on a device of its own.
  std::vector<Grant> grants;
  for (std::uint32_t trial : {1, 2, 3, 4}) {
    grants.push_back(
        {.node = NodeId(1), .cpus = 500, .gpu_share = 500, .devices = {DeviceId(trial - 1)}});
    t.Waiting(1, trial, 1);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    t.view.items[i].running = t.view.items[i].movable = true;
    t.view.items[i].grant = &grants[i];
  }
  const auto& items = t.view.items;
  const auto placed =
      Place(t.cluster, {{&items[0], 3000}, {&items[1], 500}, {&items[2], 500}, {&items[3], 500}});
  // Trials 2 and 3 stay. Trial 1 gets the two devices that are then free. Trial 4 goes to a device
  // of a trial that stays.
  EXPECT_THAT(Listed(placed), ElementsAre("2:0.5", "3:0.5", "1:2", "4:0.5"));
}

TEST(PlacerTest, NoTrialThatCouldStayLeavesForNothing) {
  TestViews t(2);
  t.cluster.Join({.name = "m", .cpus = 64'000, .devices = std::vector<Device>(2)});
  t.Study(1, kQuarterToEight);
  t.Running(1, 1, 1, 1000);
  t.Running(1, 2, 1, 1000);
  t.Running(1, 3, 1, 1000);
  const auto& items = t.view.items;
  // No node has three devices. Trial 1 could have two if trial 2 left.
  const auto placed = Place(t.cluster, {{&items[0], 3000}, {&items[2], 1000}, {&items[1], 1000}});
  EXPECT_EQ(placed.size(), 3U);
}

TEST(PlacerTest, OneThatLeavesIsPlacedLikeOneThatWaits) {
  TestViews t(2);
  t.Study(1, kQuarterToEight);
  t.Running(1, 1, 1, 1000).leaving = true;
  const auto placed = Place(t.cluster, {{t.view.items.data(), 2000}});
  EXPECT_THAT(Listed(placed), ElementsAre("1:2"));
}

TEST(PlacerTest, NoTrialIsWiderThanANode) {
  TestViews t(2);
  t.cluster.Join({.name = "m", .cpus = 64'000, .devices = std::vector<Device>(3)});
  t.Study(1, kQuarterToEight);
  t.Waiting(1, 1, 1);
  EXPECT_THAT(Listed(Place(t.cluster, {{t.view.items.data(), 5000}})), ElementsAre("1:3"));
}

TEST(PlacerTest, NodesThatAreDownHaveNoPlaces) {
  TestViews t(2);
  t.Study(1, kQuarterToEight);
  t.Running(1, 1, 1, 1000);
  Node down = t.cluster.nodes()[0];
  down.up = false;
  t.cluster.Change(NodeId(1), down);
  EXPECT_THAT(Place(t.cluster, {{t.view.items.data(), 1000}}), IsEmpty());
}

TEST(PlacerTest, SharesFillUpDevicesSoThatWholeOnesStayWhole) {
  TestViews t(2);
  t.Study(1, kQuarterToEight);
  for (std::uint32_t trial : {1, 2, 3}) t.Waiting(1, trial, 1);
  const auto& items = t.view.items;
  const auto placed = Place(t.cluster, {{&items[0], 500}, {&items[1], 250}, {&items[2], 1000}});
  EXPECT_THAT(Listed(placed), ElementsAre("1:0.5", "2:0.25", "3:1"));
  EXPECT_EQ(placed[0].grant.devices, placed[1].grant.devices);
}

TEST(PlacerTest, ANewTrialTakesFreeDevicesBeforeThoseThatATrialIsToLeave) {
  TestViews t(2);
  t.Study(1, kQuarterToEight);
  t.Waiting(1, 1, 1);
  t.Waiting(1, 2, 1);
  t.cluster.Take({.node = NodeId(1),
                  .cpus = 1000,
                  .gpu_share = 1000,
                  .memory_bytes = 0,
                  .devices = {DeviceId(0)}});  // of a trial that is about to end
  const std::vector<Wanted> wanted = {{&t.view.items[0], 1000}, {&t.view.items[1], 1000}};
  const auto placed = Place(t.cluster, wanted);
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_THAT(placed[0].grant.devices, ElementsAre(DeviceId(1)));
  EXPECT_THAT(placed[1].grant.devices, ElementsAre(DeviceId(0)));
}

TEST(PlacerTest, WithSpeedsTheQuickestNodeComesFirst) {
  TestViews t(1);
  t.JoinH100();
  t.Study(1, {.cpus = 0, .gpus = 1000});
  t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 1);
  t.speeds.Learn({.shape = "study1", .kind = "H100"}, 2, 1);
  const WorkItem& item = t.Waiting(1, 1, 10);
  EXPECT_EQ(Place(t.cluster, {{&item, 1000}}, &t.speeds)[0].grant.node, NodeId(2));
  EXPECT_EQ(Place(t.cluster, {{&item, 1000}})[0].grant.node, NodeId(1));
}

}  // namespace
}  // namespace sluice
