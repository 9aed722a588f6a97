#include "policy/confluence/move_to_faster_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

// A slow A100, on which trial 1 runs, and an H100.
class MoveToFasterDeviceTest : public testing::Test {
 protected:
  MoveToFasterDeviceTest() {
    t.JoinH100();
    StudyView& study = t.Study(1, {.cpus = 0, .gpus = 1000});
    study.start_up_known = true;
    study.start_up = std::chrono::seconds(5);
    t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 1);
    t.speeds.Learn({.shape = "study1", .kind = "H100"}, 4, 1);
    t.Running(1, 1, 100, 1000);
    plan.keeps_running = true;
  }
  // The node on which trial 1 is to run; 0: it is to leave.
  std::uint32_t Where() {
    Plan hastened = plan;
    MoveToFasterDevices(t.cluster, t.view, now, hastened);
    for (const auto& [trial, grant] : hastened.placements)
      if (Number(trial.trial) == 1) return Number(grant.node);
    return hastened.keeps_running ? 1 : 0;
  }
  const Grant quick_one{
      .node = NodeId(2), .cpus = 0, .gpu_share = kWhole, .devices = {DeviceId(0)}};

  TestViews t{1};
  Time now{};
  Plan plan;
};

TEST_F(MoveToFasterDeviceTest, ATrialOnASlowDeviceMovesToAFastOneThatIsIdle) {
  EXPECT_EQ(Where(), 2U);
  plan.keeps_running = false;
  plan.placements = {{t.view.items[0].trial, *t.view.items[0].grant}};
  EXPECT_EQ(Where(), 2U);
}

TEST_F(MoveToFasterDeviceTest, TheOthersStayWhereTheyAre) {
  t.JoinH100();
  t.cluster.Take(quick_one);
  WorkItem& other = t.Waiting(1, 2, 100);
  other.running = true;
  other.movable = true;
  other.grant = &quick_one;
  MoveToFasterDevices(t.cluster, t.view, now, plan);
  ASSERT_EQ(plan.placements.size(), 2U);
  EXPECT_FALSE(plan.keeps_running);
  EXPECT_EQ(plan.placements[0].grant.node, NodeId(3));
  EXPECT_EQ(plan.placements[1].grant, quick_one);
}

TEST_F(MoveToFasterDeviceTest, NoTrialMovesForLessThanThatCosts) {
  t.view.studies[0].leaving = std::chrono::seconds(40);
  EXPECT_EQ(Where(), 1U);
  t.view.studies[0].leaving = {};
  now = Time(std::chrono::seconds(40));  // 40 s since its last report
  EXPECT_EQ(Where(), 1U);
  now = {};
  t.view.studies[0].start_up_known = false;
  EXPECT_EQ(Where(), 1U);
}

TEST_F(MoveToFasterDeviceTest, AJudgedTrialMovesForMore) {
  t.view.studies[0].judged = true;
  EXPECT_EQ(Where(), 2U);
  t.view.studies[0].leaving = std::chrono::seconds(10);
  EXPECT_EQ(Where(), 1U);
  t.view.studies[0].judged = false;
  EXPECT_EQ(Where(), 2U);
}

TEST_F(MoveToFasterDeviceTest, NoTrialMovesWhereAnotherIsToRun) {
  t.Waiting(1, 2, 100);
  plan.placements = {{t.view.items[1].trial, quick_one}};
  EXPECT_EQ(Where(), 1U);
  plan.placements.clear();
  t.view.studies[0].coming = 1;
  EXPECT_EQ(Where(), 1U);
  t.view.studies[0].coming = 0;
  plan.wanted_room = {{StudyId(1), 1}};
  EXPECT_EQ(Where(), 1U);
}

TEST_F(MoveToFasterDeviceTest, ATrialThatLeavesOrCannotBeMovedIsNotMoved) {
  t.view.items[0].movable = false;
  EXPECT_EQ(Where(), 1U);
  t.view.items[0].movable = true;
  plan.keeps_running = false;
  EXPECT_EQ(Where(), 0U);
}

TEST_F(MoveToFasterDeviceTest, NoTrialMovesWhereDevicesAreAsFast) {
  for (int i = 0; i < 50; ++i) t.speeds.Learn({.shape = "study1", .kind = "H100"}, 1, 1);
  EXPECT_EQ(Where(), 1U);
}

}  // namespace
}  // namespace sluice
