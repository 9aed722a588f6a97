#include "policy/published/hypersched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Demand kOneToEight{.cpus = 1000, .gpus = 1000, .least = 1000, .most = 8000};

Time At(double seconds) { return Time(Duration(static_cast<std::int64_t>(seconds * 1e6))); }

// A study of 200 units, eta 4, that ends at 1000 s.
StudyView& AddStudy(TestViews& t) {
  StudyView& study = t.Study(1, kOneToEight);
  study.shape = "study1";
  study.deadline = At(1000);
  study.max_budget = 200;
  study.eta = 4;
  return study;
}

std::vector<std::string> PlacedByHyperSched(const TestViews& t, double now = 0) {
  return TestViews::Placed(HyperSched().Propose(t.cluster, t.view, At(now)));
}

TEST(HyperSchedTest, WhatIsLeftOverGoesRoundTheBestFirst) {
  TestViews t(8);
  AddStudy(t);
  t.Waiting(1, 1, 9).loss = 3;
  t.Waiting(1, 2, 9).loss = 1;
  t.Waiting(1, 3, 9).loss = 2;
  EXPECT_THAT(PlacedByHyperSched(t), ElementsAre("2:3", "3:3", "1:2"));
  t.Waiting(1, 4, 9).loss = 0;
  t.Waiting(1, 5, 9).loss = NAN;
  EXPECT_THAT(PlacedByHyperSched(t), ElementsAre("4:2", "2:2", "3:2", "1:1", "5:1"));
}

TEST(HyperSchedTest, NoTrialIsWiderThanItCanBe) {
  TestViews t(8);
  AddStudy(t).demand.most = 3000;
  t.Waiting(1, 1, 9);
  EXPECT_THAT(PlacedByHyperSched(t), ElementsAre("1:3"));
}

TEST(HyperSchedTest, ATrialThatIsNotElasticGetsWhatItDemands) {
  TestViews t(2);
  StudyView& study = AddStudy(t);
  study.demand = {.cpus = 1000, .gpus = 500};
  study.open = true;
  t.Waiting(1, 1, 9);
  t.Waiting(1, 2, 9);
  const Plan plan = HyperSched().Propose(t.cluster, t.view, {});
  EXPECT_THAT(TestViews::Placed(plan), ElementsAre("1:0.5", "2:0.5"));
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 2);
}

TEST(HyperSchedTest, ParallelismHoldsWhileOthersLeave) {
  TestViews t(4);
  StudyView& study = AddStudy(t);
  study.parallelism = 2;
  study.running = study.ending = 1;
  t.Waiting(1, 1, 9);
  t.Waiting(1, 2, 9);
  EXPECT_THAT(PlacedByHyperSched(t), ElementsAre("1:4"));
}

TEST(HyperSchedTest, GrowingMustPayAndNotComeTooOften) {
  TestViews t(2);
  AddStudy(t).start_up = std::chrono::seconds(60);
  t.speeds = SpeedModel({.widths = *WidthTable("resnet50")});
  t.Running(1, 1, 9, 1000).launch_reports = 6;
  // From one to two devices pays while more than 146 s are left.
  EXPECT_THAT(PlacedByHyperSched(t, 1000 - 147), ElementsAre("1:2"));
  EXPECT_THAT(PlacedByHyperSched(t, 1000 - 145), ElementsAre("1:1"));
  t.view.items[0].launch_reports = 5;
  EXPECT_THAT(PlacedByHyperSched(t, 0), ElementsAre("1:1"));
}

TEST(HyperSchedTest, ShrinkingIsAlwaysRight) {
  TestViews t(2);
  AddStudy(t);
  t.Running(1, 1, 9, 2000);
  t.Waiting(1, 2, 9);
  EXPECT_THAT(PlacedByHyperSched(t), UnorderedElementsAre("1:1", "2:1"));
}

TEST(HyperSchedTest, WhatCannotBeMovedIsNotDealtOut) {
  TestViews t(8);
  AddStudy(t);
  t.Running(1, 1, 9, 5000).movable = false;
  for (std::uint32_t trial : {2, 3}) {
    WorkItem& item = t.Running(1, trial, 9, 1000);
    item.launch_reports = 6;
    item.loss = trial;
  }
  t.speeds = SpeedModel({.widths = *WidthTable("resnet50")});
  EXPECT_THAT(PlacedByHyperSched(t), UnorderedElementsAre("1:5", "2:2", "3:1"));
}

TEST(HyperSchedTest, AdmitsWhileThereIsTimeToCatchUp) {
  TestViews t(4);
  StudyView& study = AddStudy(t);
  study.open = true;
  study.furthest = 10;
  t.Running(1, 1, 9, 1000);
  EXPECT_FALSE(HyperSched().Propose(t.cluster, t.view, At(999)).wanted_room.empty());
  // 10 units of 5 s, times eta, which is 4: no new trial is admitted with less than 200 s left.
  t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 5);
  EXPECT_FALSE(HyperSched().Propose(t.cluster, t.view, At(799)).wanted_room.empty());
  EXPECT_TRUE(HyperSched().Propose(t.cluster, t.view, At(801)).wanted_room.empty());
  t.Waiting(1, 2, 9);
  t.Waiting(1, 3, 9).admitted = true;
  EXPECT_THAT(PlacedByHyperSched(t, 801), ElementsAre("1:1", "3:2"));
}

TEST(HyperSchedTest, TheFullBudgetIsTheMostThatIsAskedFor) {
  TestViews t(4);
  StudyView& study = AddStudy(t);
  study.furthest = 190;
  study.max_budget = 200;
  t.Waiting(1, 1, 9);
  t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 1);
  study.running = study.ending = 1;
  EXPECT_THAT(PlacedByHyperSched(t, 799), ElementsAre("1:4"));  // 201 s are left for 200 s
  EXPECT_THAT(PlacedByHyperSched(t, 801), IsEmpty());
  study.running = study.ending = 0;
  EXPECT_THAT(PlacedByHyperSched(t, 801), ElementsAre("1:4"));  // better than idle devices
}

TEST(HyperSchedTest, NewTrialsComeBeforeWiderOnes) {
  TestViews t(4);
  AddStudy(t).open = true;
  t.Running(1, 1, 9, 1000).launch_reports = 6;
  const Plan plan = HyperSched().Propose(t.cluster, t.view, {});
  EXPECT_THAT(TestViews::Placed(plan), ElementsAre("1:1"));
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 3);
}

}  // namespace
}  // namespace sluice
