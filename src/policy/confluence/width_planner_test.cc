#include "policy/confluence/width_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Trials and their widths.
std::map<std::uint32_t, Milli> ChosenWidths(const TestViews& t, Milli devices, Time now = {}) {
  std::map<std::uint32_t, Milli> widths;
  for (const Wanted& wanted :
       WidthPlanner(t.cluster, t.view, t.view.studies[0], devices, now).Choose())
    widths[Number(wanted.item->trial.trial)] = wanted.width;
  return widths;
}

// Measured speeds: 1 on one device, 1.8 on two, 3.2 on four, and `on_half` on half a device.
void MeasureWidths(TestViews& t, double on_half = 0.5) {
  for (int i = 0; i < 20; ++i) {
    t.speeds.Learn({.shape = "study1", .kind = "A100", .width = 1000}, 1, 1);
    t.speeds.Learn({.shape = "study1", .kind = "A100", .width = 2000}, 1.8, 1);
    t.speeds.Learn({.shape = "study1", .kind = "A100", .width = 4000}, 3.2, 1);
    t.speeds.Learn({.shape = "study1", .kind = "A100", .width = 500, .neighbours = 500}, on_half,
                   1);
  }
}

TEST(WidthPlannerTest, EqualTrialsOnAsManyDevicesGetOneEach) {
  TestViews t(4);
  t.Study(1, kHalfToFour).max_budget = 100;
  MeasureWidths(t);
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 100);
  EXPECT_THAT(ChosenWidths(t, 4000),
              ElementsAre(Pair(1, 1000), Pair(2, 1000), Pair(3, 1000), Pair(4, 1000)));
}

TEST(WidthPlannerTest, TheLongestGetsWhatTheOthersCanSpare) {
  TestViews t(4);
  t.Study(1, kHalfToFour).max_budget = 300;
  MeasureWidths(t);
  t.Waiting(1, 1, 300);
  t.Waiting(1, 2, 40);
  t.Waiting(1, 3, 40);
  const auto widths = ChosenWidths(t, 4000);
  EXPECT_GE(widths.at(1), 2000);
  EXPECT_LE(widths.at(2), 1000);
  EXPECT_LE(widths.at(3), 1000);
}

TEST(WidthPlannerTest, AShareThatIsAsQuickIsPreferredWhileOthersWait) {
  TestViews t(2);
  t.Study(1, kHalfToFour).max_budget = 100;
  MeasureWidths(t, /*on_half=*/0.95);
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 100);
  for (const auto& [trial, width] : ChosenWidths(t, 2000)) EXPECT_EQ(width, 500) << trial;
  EXPECT_EQ(WidthPlanner(t.cluster, t.view, t.view.studies[0], 2000, {}).MostAlive(), 4);
}

TEST(WidthPlannerTest, NoTrialIsWidenedWhileOthersAreToCome) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 100;
  study.open = true;
  study.left = 50;
  MeasureWidths(t);
  t.Waiting(1, 1, 100);
  EXPECT_LE(ChosenWidths(t, 4000).at(1), 1000);
}

TEST(WidthPlannerTest, AsManyAsMayRunAtOnceFillTheDevicesThoughOthersAreToCome) {
  TestViews t(8);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 100;
  study.open = true;
  study.left = 50;
  study.parallelism = 3;
  MeasureWidths(t);
  for (std::uint32_t i = 1; i <= 3; ++i) t.Waiting(1, i, 100);
  const auto widths = ChosenWidths(t, 8000);
  Milli sum = 0;
  for (const auto& [trial, width] : widths) {
    EXPECT_GE(width, 2000) << trial;
    sum += width;
  }
  EXPECT_EQ(sum, 8000);
  // The place of a trial that is still to come is kept.
  t.view.studies[0].waiting = 2;
  t.view.items.pop_back();
  EXPECT_THAT(ChosenWidths(t, 8000), UnorderedElementsAre(Pair(1, 3000), Pair(2, 3000)));
}

TEST(WidthPlannerTest, AllBeginAtOnceIfNoneThenEndsLater) {
  TestViews t(4);
  t.Study(1, kHalfToFour).max_budget = 100;
  MeasureWidths(t, /*on_half=*/0.51);
  for (std::uint32_t i = 1; i <= 7; ++i) t.Waiting(1, i, 100);
  Milli sum = 0;
  for (const auto& [trial, width] : ChosenWidths(t, 4000)) sum += width;
  EXPECT_EQ(sum, 4000);  // six on half a device, 196 s instead of twice 100
  // Two that wait have two devices each once the others have ended: that is sooner.
  t.view.items.pop_back();
  for (const auto& [trial, width] : ChosenWidths(t, 4000)) EXPECT_EQ(width, 1000) << trial;
}

TEST(WidthPlannerTest, ASlowTrialCountsByItsPace) {
  TestViews t(4);
  t.Study(1, kHalfToFour).max_budget = 100;
  MeasureWidths(t);
  t.Waiting(1, 1, 100).pace = 0.3;
  t.Waiting(1, 2, 100);
  const auto widths = ChosenWidths(t, 4000);
  EXPECT_GT(widths.at(1), widths.at(2));
}

TEST(WidthPlannerTest, ARunningTrialIsMovedOnlyIfThatPays) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 1000;
  study.start_up_known = true;
  study.start_up = std::chrono::seconds(20);
  MeasureWidths(t);
  t.Running(1, 1, 60, 1000);
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 1000);  // 60 s as it is, 39 s and a start-up with four
  t.view.items[0].target = 1000;
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 4000);
  study.start_up_known = false;  // the cost of a change is not known
  t.view.studies[0].start_up_known = false;
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 1000);
}

TEST(WidthPlannerTest, WhatItTakesToLeaveIsPartOfThePrice) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 1000;
  study.start_up_known = true;
  study.start_up = std::chrono::seconds(1);
  MeasureWidths(t);
  t.Running(1, 1, 100, 1000);
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 4000);  // 31 s and a start-up instead of 100 s
  t.view.studies[0].leaving = std::chrono::seconds(80);
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 1000);
}

TEST(WidthPlannerTest, TrialsToComeThatAreMostlyStoppedAreNoReasonToStayNarrow) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 100;
  study.open = true;
  study.left = 20;
  study.parallelism = 4;
  MeasureWidths(t);
  t.Waiting(1, 1, 100);
  t.Waiting(1, 2, 1);
  // All of them run to the end: that takes longer than any single trial.
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 1000);
  t.view.studies[0].typical_work = 3;
  EXPECT_GT(ChosenWidths(t, 4000).at(1), 1000);
}

TEST(WidthPlannerTest, ATrialOnSlowDevicesIsLate) {
  TestViews t(0);
  Node fast{.name = "fast", .cpus = 64000, .devices = {}};
  Node slow{.name = "slow", .cpus = 64000, .devices = {}};
  for (const char* id : {"0", "1"}) {
    fast.devices.push_back({.uuid = id, .kind = "A100", .memory_bytes = 40 << 10});
    slow.devices.push_back({.uuid = id, .kind = "V100", .memory_bytes = 40 << 10});
  }
  t.cluster.Join(std::move(fast));
  t.cluster.Join(std::move(slow));
  StudyView& study = t.Study(1, {.cpus = 1000, .gpus = 1000, .least = 1000, .most = 2000});
  study.max_budget = 100;
  study.start_up_known = true;
  study.start_up = std::chrono::seconds(1);
  MeasureWidths(t);
  for (int i = 0; i < 20; ++i)
    t.speeds.Learn({.shape = "study1", .kind = "V100", .width = 1000}, 1, 4);
  for (std::uint32_t i = 1; i <= 3; ++i) t.Running(1, i, 100, 1000);
  // The third would take four times as long as the others.
  const auto widths = ChosenWidths(t, 4000);
  EXPECT_EQ(widths.at(1), 1000);
  EXPECT_EQ(widths.at(3), 2000);
  t.Study(2, kHalfToFour);  // with another study, faster devices may be taken
  EXPECT_EQ(ChosenWidths(t, 4000).at(3), 1000);
}

TEST(WidthPlannerTest, AWidthBetweenThoseThatAreTriedIsKept) {
  TestViews t(0, /*cpus=*/64000);
  StudyView& study = t.Study(1, {.cpus = 1000, .least = 1000, .most = 64000});
  study.max_budget = 100;
  study.start_up_known = true;
  t.speeds.Learn({.shape = "study1", .kind = "", .width = 17000}, 1, 1);
  t.Running(1, 1, 100, 17000);
  t.Waiting(1, 2, 100);
  EXPECT_EQ(ChosenWidths(t, 64000).at(1), 17000);
}

TEST(WidthPlannerTest, ATrialThatIsAwayKeepsItsPart) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 1000;
  study.paused = 3;
  study.all_go_on = true;
  MeasureWidths(t);
  t.Waiting(1, 1, 100);
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 1000);
  t.view.studies[0].paused = 0;
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 4000);
}

TEST(WidthPlannerTest, NoPartIsKeptForTrialsThatAreNotToGoOn) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.max_budget = 100;
  study.eta = 3;
  study.paused = 30;
  MeasureWidths(t);
  t.Waiting(1, 1, 100);  // to the end: no rung is reached any more
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 4000);
  t.view.studies[0].max_budget = 300;
  t.Waiting(1, 2, 100);
  t.Waiting(1, 3, 100);
  for (const auto& [trial, width] : ChosenWidths(t, 4000)) EXPECT_EQ(width, 1000) << trial;
}

TEST(WidthPlannerTest, WithoutAnEndEveryTrialHasTheBestWidth) {
  TestViews t(4);
  t.Study(1, kHalfToFour).max_budget = kNoLimit;
  MeasureWidths(t);
  t.Waiting(1, 1, kNoLimit);
  const WidthPlanner widening(t.cluster, t.view, t.view.studies[0], 4000, {});
  EXPECT_TRUE(std::isinf(widening.length()));
  EXPECT_EQ(widening.Choose().size(), 1U);
}

TEST(WidthPlannerTest, CoresAreWidthWhereNoDeviceIsNeeded) {
  TestViews t(0, /*cpus=*/4000);
  t.speeds = SpeedModel({.widths = *WidthTable("linear")});
  t.Study(1, {.cpus = 1000, .least = 1000, .most = 4000}).max_budget = 100;
  t.Waiting(1, 1, 100);
  EXPECT_EQ(ChosenWidths(t, 4000).at(1), 4000);
}

}  // namespace
}  // namespace sluice
