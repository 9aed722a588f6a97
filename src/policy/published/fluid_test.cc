#include "policy/published/fluid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<double> FluidWidths(const std::vector<double>& times, int devices) {
  double sum = 0;
  for (const double time : times) sum += time;
  std::vector<double> widths;
  for (const double time : times) {
    const Milli width = FluidWidth(time / sum, kHalfToFour, devices * kWhole);
    widths.push_back(static_cast<double>(width) / kWhole);
  }
  return widths;
}

TEST(FluidWidthTest, TheFormula) {
  EXPECT_THAT(FluidWidths({30, 1, 1, 1}, 5), ElementsAre(4, 0.5, 0.5, 0.5));
  EXPECT_THAT(FluidWidths({8, 4, 2, 1, 1}, 8), ElementsAre(4, 2, 1, 0.5, 0.5));
  EXPECT_THAT(FluidWidths({10, 9, 8, 7, 6, 5, 4, 3}, 8),
              ElementsAre(1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(FluidWidths({1, 1, 1, 1}, 5), ElementsAre(1, 1, 1, 1));
}

TEST(FluidWidthTest, RoundingTakesNoDeviceAway) {
  EXPECT_EQ(FluidWidths(std::vector<double>(16, 0.1), 16), std::vector<double>(16, 1));
}

TEST(FluidWidthTest, NothingLeftIsNarrow) { EXPECT_EQ(FluidWidth(0, kHalfToFour, 8000), 500); }

TEST(FluidWidthTest, OneThatIsNotElasticKeepsItsWidth) {
  EXPECT_EQ(FluidWidth(0.9, {.cpus = 0, .gpus = 2000}, 8000), 2000);
  EXPECT_EQ(FluidWidth(0.1, {.cpus = 0, .gpus = 250}, 8000), 250);
}

Plan FluidPlan(Fluid::Mode mode, const TestViews& t) {
  return Fluid(mode).Propose(t.cluster, t.view, {});
}

TEST(FluidTest, TheLongestComeFirstAndWhatDoesNotFitWaits) {
  for (const auto mode : {Fluid::Mode::kStatic, Fluid::Mode::kDynamic}) {
    TestViews t(5);
    t.Study(1, kHalfToFour);
    t.Waiting(1, 1, 1);
    t.Waiting(1, 2, 30);
    t.Waiting(1, 3, 1);
    t.Waiting(1, 4, 1);
    EXPECT_THAT(TestViews::Placed(FluidPlan(mode, t)), ElementsAre("2:4", "1:0.5", "3:0.5"));
  }
}

TEST(FluidTest, StaticSettlesWidthsOnce) {
  TestViews t(8);
  t.Study(1, kHalfToFour);
  t.Waiting(1, 1, 8);
  t.Waiting(1, 2, 8).width = 2000;
  const Plan plan = FluidPlan(Fluid::Mode::kStatic, t);
  EXPECT_THAT(TestViews::Placed(plan), UnorderedElementsAre("1:4", "2:2"));
  ASSERT_EQ(plan.widths.size(), 1U);
  EXPECT_EQ(plan.widths[0].trial.trial, TrialId(1));
  EXPECT_EQ(plan.widths[0].width, 4000);
}

TEST(FluidTest, NothingChangesUntilTheWholeGroupIsThere) {
  for (const auto mode : {Fluid::Mode::kStatic, Fluid::Mode::kDynamic}) {
    TestViews t(8);
    t.Study(1, kHalfToFour).coming = 1;
    t.Running(1, 1, 8, 1000);
    t.Waiting(1, 2, 8);
    const Plan plan = FluidPlan(mode, t);
    EXPECT_TRUE(plan.keeps_running);
    EXPECT_THAT(TestViews::Placed(plan), IsEmpty());
    EXPECT_THAT(plan.wanted_room, IsEmpty());
  }
}

TEST(FluidTest, ATrialThatCannotBeMovedStays) {
  TestViews t(8);
  t.Study(1, kHalfToFour);
  t.Running(1, 1, 8, 1000).movable = false;
  t.Waiting(1, 2, 8);
  const Plan plan = FluidPlan(Fluid::Mode::kDynamic, t);
  EXPECT_THAT(TestViews::Placed(plan), ElementsAre("1:1", "2:4"));
  EXPECT_EQ(plan.placements[0].grant, *t.view.items[0].grant);
}

TEST(FluidTest, StaticLeavesRunningTrialsAsTheyAre) {
  TestViews t(8);
  t.Study(1, kHalfToFour);
  t.Running(1, 1, 8, 1000).width = 1000;
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kStatic, t)), ElementsAre("1:1"));
}

TEST(FluidTest, DynamicMovesTrialsWithAnotherWidthAndNoOthers) {
  TestViews t(8);
  t.Study(1, kHalfToFour);
  t.Running(1, 1, 4, 1000);
  t.Running(1, 2, 4, 4000);
  const Plan plan = FluidPlan(Fluid::Mode::kDynamic, t);
  EXPECT_THAT(TestViews::Placed(plan), ElementsAre("2:4", "1:4"));
  EXPECT_EQ(plan.placements[0].grant, *t.view.items[1].grant);
}

TEST(FluidTest, ALongTrialThatWaitsDrivesOutNoOther) {
  TestViews t(5);
  t.Study(1, kHalfToFour);
  for (std::uint32_t trial : {1, 2, 3}) t.Running(1, trial, 1, 500);
  t.Waiting(1, 4, 30);
  // By the formula it would have four devices. It gets the three that are left.
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kDynamic, t)),
              ElementsAre("1:0.5", "2:0.5", "3:0.5", "4:3"));
}

TEST(FluidTest, ATrialThatRanBeforeComesBeforeNewOnes) {
  TestViews t(1);
  t.Study(1, kHalfToFour);
  t.Waiting(1, 1, 30);
  t.Waiting(1, 2, 30);
  t.Waiting(1, 3, 1).admitted = true;
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kDynamic, t)),
              ElementsAre("3:0.5", "1:0.5"));
}

TEST(FluidTest, GroupsShareByWhatIsLeftOfThem) {
  TestViews t(8);
  t.Study(1, kHalfToFour);
  t.Study(2, kHalfToFour);
  t.Waiting(1, 1, 10);
  t.Waiting(1, 2, 10);
  t.Waiting(2, 3, 20);
  // A unit of the second study's work takes three times as long.
  t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 1);
  t.speeds.Learn({.shape = "study2", .kind = "A100"}, 1, 3);
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kDynamic, t)),
              ElementsAre("3:4", "1:1", "2:1"));
}

TEST(FluidTest, StudiesAreAskedForAsManyTrialsAsCanBeAlive) {
  TestViews t(4);
  t.Study(1, kHalfToFour).open = true;
  t.Running(1, 1, 5, 1000);
  t.Waiting(1, 2, 5);
  Plan plan = FluidPlan(Fluid::Mode::kDynamic, t);
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 6);
  t.view.studies[0].parallelism = 3;
  EXPECT_EQ(FluidPlan(Fluid::Mode::kDynamic, t).wanted_room[0].trials, 1);
  t.view.studies[0].parallelism = 2;
  EXPECT_THAT(FluidPlan(Fluid::Mode::kDynamic, t).wanted_room, IsEmpty());
}

TEST(FluidTest, ParallelismHoldsWhileOthersLeave) {
  TestViews t(4);
  StudyView& study = t.Study(1, kHalfToFour);
  study.parallelism = 2;
  study.running = study.ending = 1;
  t.Waiting(1, 1, 5);
  t.Waiting(1, 2, 4);
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kDynamic, t)), ElementsAre("1:2"));
}

TEST(FluidTest, WithoutGpusTrialsAreWideInCores) {
  TestViews t(0, 2000);
  t.Study(1, {.cpus = 1000, .gpus = 0, .least = 1000, .most = 2000});
  t.Waiting(1, 1, 5);
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kDynamic, t)), ElementsAre("1:2"));
  t.Waiting(1, 2, 5);
  EXPECT_THAT(TestViews::Placed(FluidPlan(Fluid::Mode::kDynamic, t)), ElementsAre("1:1", "2:1"));
}

}  // namespace
}  // namespace sluice
