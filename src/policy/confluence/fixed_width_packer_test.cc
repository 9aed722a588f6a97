#include "policy/confluence/fixed_width_packer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

struct Filled {
  Plan plan;
  std::vector<TrialKey> leaving;
};

Filled Fill(TestViews& t, Time now = {}) {
  std::vector<const StudyView*> studies;
  for (const StudyView& study : t.view.studies) studies.push_back(&study);
  Filled filled;
  Cluster free;
  free.SetNodes(t.cluster.nodes());
  FixedWidthPacker(free, t.view, studies, now).Fill(filled.plan, filled.leaving);
  return filled;
}

// What is taken of each device.
std::map<std::uint32_t, Milli> Used(const Plan& plan) {
  std::map<std::uint32_t, Milli> used;
  for (const Placement& placement : plan.placements)
    used[Number(placement.grant.devices[0])] += placement.grant.gpu_share;
  return used;
}

// A unit of work takes a second.
void LearnUnitSpeeds(TestViews& t) {
  for (const StudyView& study : t.view.studies)
    t.speeds.Learn({.shape = std::string(study.shape), .kind = "A100"}, 1, 1);
}

TEST(FixedWidthPackerTest, ADeviceIsFilledWithWhatLeavesNoGap) {
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 600});
  t.Study(2, {.cpus = 0, .gpus = 500});
  t.Waiting(1, 1, 10);
  t.Waiting(2, 1, 10);
  t.Waiting(2, 2, 10);
  LearnUnitSpeeds(t);
  const Filled filled = Fill(t);
  EXPECT_EQ(filled.plan.placements.size(), 2U);
  EXPECT_EQ(Used(filled.plan)[0], 1000);
}

TEST(FixedWidthPackerTest, WhatFitsBadlyBesideItsLikeGoesFirstWhileItFitsBesideOthers) {
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 350});
  t.Study(2, {.cpus = 0, .gpus = 300});
  t.Study(3, {.cpus = 0, .gpus = 500});
  for (std::uint32_t i = 1; i <= 2; ++i) t.Waiting(1, i, 10);
  t.Waiting(2, 3, 10);
  for (std::uint32_t i = 4; i <= 5; ++i) t.Waiting(3, i, 11);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), UnorderedElementsAre("1:0.35", "2:0.35", "3:0.3"));
}

TEST(FixedWidthPackerTest, ATrialThatDoesNotFitBesideItsLikeRunsWhileThereAreOthers) {
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 510});
  t.Study(2, {.cpus = 0, .gpus = 480});
  for (std::uint32_t i = 1; i <= 9; ++i) t.Waiting(1, i, 20);
  for (std::uint32_t i = 11; i <= 19; ++i) t.Waiting(2, i, 40);
  for (const StudyView& study : t.view.studies)
    t.speeds.Learn({.shape = std::string(study.shape), .kind = "A100", .width = study.demand.gpus},
                   1, 1);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), UnorderedElementsAre("1:0.51", "11:0.48"));
  // Judged trials count to their full budget.
  t.view.studies[1].judged = true;
  t.view.studies[1].max_budget = 400;
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), UnorderedElementsAre("11:0.48", "12:0.48"));
}

TEST(FixedWidthPackerTest, WhereOneGoodTrialIsEnoughShortOnesComeFirst) {
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000});
  t.Study(2, {.cpus = 0, .gpus = 1000});
  t.Waiting(1, 1, 100);
  t.Waiting(2, 2, 10);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:1"));
  for (StudyView& study : t.view.studies) study.ends_when_good_enough = true;
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
}

TEST(FixedWidthPackerTest, WhereOneGoodTrialIsEnoughAWideOneWaitsForShortOnes) {
  TestViews t(2);
  t.Study(1, {.cpus = 0, .gpus = 2000}).ends_when_good_enough = true;
  t.Study(2, {.cpus = 0, .gpus = 1000}).ends_when_good_enough = true;
  t.Waiting(1, 1, 100);
  t.Waiting(2, 2, 10);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
}

TEST(FixedWidthPackerTest, TheLongestComesFirst) {
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000});
  t.Waiting(1, 1, 10);
  t.Waiting(1, 2, 30);
  t.Waiting(1, 3, 20);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
}

TEST(FixedWidthPackerTest, ATrialThatMayGoOnCountsToItsEnd) {
  TestViews t(1);
  StudyView& judged = t.Study(1, {.cpus = 0, .gpus = 1000});
  judged.judged = true;
  judged.max_budget = 100;
  t.Study(2, {.cpus = 0, .gpus = 1000});
  t.Waiting(1, 1, 5);
  t.Waiting(1, 2, 10);
  t.Waiting(2, 3, 50);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
}

TEST(FixedWidthPackerTest, OfAPopulationTheTrialThatIsBehindComesFirst) {
  TestViews t(1);
  StudyView& study = t.Study(1, {.cpus = 0, .gpus = 1000});
  study.judged = true;
  study.all_go_on = true;
  study.max_budget = 100;
  t.Waiting(1, 1, 30).done = 20;
  t.Waiting(1, 2, 20).done = 10;
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
}

TEST(FixedWidthPackerTest, InAPopulationEveryChangeOnTheWayCounts) {
  TestViews t(1);
  StudyView& population = t.Study(1, {.cpus = 0, .gpus = 1000});
  population.judged = true;
  population.all_go_on = true;
  population.max_budget = 20;
  t.Waiting(1, 1, 2);
  t.Study(2, {.cpus = 0, .gpus = 1000});
  t.Waiting(2, 2, 60);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
  t.view.studies[0].start_up = std::chrono::seconds(5);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:1"));
}

TEST(FixedWidthPackerTest, TheFirstOfAStudyShowsHowLongTheOthersAre) {
  TestViews t(3);
  t.Study(1, {.cpus = 0, .gpus = 1000});
  LearnUnitSpeeds(t);
  t.Study(2, {.cpus = 0, .gpus = 1000});
  for (std::uint32_t i = 1; i <= 3; ++i) t.Waiting(1, i, 100);
  for (std::uint32_t i = 4; i <= 5; ++i) t.Waiting(2, i, 10);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), UnorderedElementsAre("1:1", "2:1", "4:1"));
}

TEST(FixedWidthPackerTest, MemoryCoresAndClientsAreKeptTo) {
  TestViews t(1, /*cpus=*/3000);
  t.Study(1, {.cpus = 1000, .gpus = 10, .memory_bytes = 1 << 10});
  for (std::uint32_t i = 1; i <= 60; ++i) t.Waiting(1, i, 10);
  EXPECT_EQ(Fill(t).plan.placements.size(), 3U);
  t.view.studies[0].demand.cpus = 0;
  EXPECT_EQ(Fill(t).plan.placements.size(), 40U);  // of 40 KiB
  t.view.studies[0].demand.memory_bytes = 1;
  EXPECT_EQ(Fill(t).plan.placements.size(), 48U);
}

TEST(FixedWidthPackerTest, OneThatTakesMuchMemoryIsNotPassedOver) {
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 100, .memory_bytes = 36 << 10});
  t.Study(2, {.cpus = 0, .gpus = 300, .memory_bytes = 8 << 10});
  t.Waiting(1, 1, 10);
  for (std::uint32_t i = 1; i <= 2; ++i) t.Waiting(2, i, 10);
  const Plan plan = Fill(t).plan;
  ASSERT_FALSE(plan.placements.empty());
  EXPECT_EQ(plan.placements[0].trial.study, StudyId(1));
}

// An A100, and an H100 that is quicker.
TestViews WithTwoKinds() {
  TestViews t(1);
  t.JoinH100();
  return t;
}

void MeasureKinds(TestViews& t, double quicker) {
  t.view.speeds = &t.speeds;
  for (const StudyView& study : t.view.studies) {
    for (const auto& [kind, speed] : {std::pair("A100", 1.0), std::pair("H100", quicker)}) {
      const Milli width = NeedOn(study.demand, kind).gpus;
      t.speeds.Learn({.shape = std::string(study.shape), .kind = kind, .width = width}, speed, 1);
    }
  }
}

TEST(FixedWidthPackerTest, EachKindTakesThoseItSuits) {
  TestViews t = WithTwoKinds();
  t.Study(1, {.cpus = 0, .gpus = 500});
  Demand heavy{.cpus = 0, .gpus = 1000};
  heavy.kinds = std::make_shared<const std::vector<KindNeed>>(
      std::vector<KindNeed>{{"A100", {.gpus = 1000}}, {"H100", {.gpus = 500}}});
  t.Study(2, heavy);
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 110);
  for (std::uint32_t i = 5; i <= 8; ++i) t.Waiting(2, i, 100);
  MeasureKinds(t, 1.2);
  const Filled filled = Fill(t);
  EXPECT_EQ(filled.plan.placements.size(), 4U);
  for (const auto& [trial, grant] : filled.plan.placements)
    EXPECT_EQ(grant.node, Number(trial.study) == 1 ? NodeId(1) : NodeId(2));
}

TEST(FixedWidthPackerTest, ATrialThatWouldBeTheLastOnASlowDeviceWaitsForAFastOne) {
  TestViews t = WithTwoKinds();
  for (std::uint32_t study = 1; study <= 3; ++study) t.Study(study, {.cpus = 0, .gpus = 1000});
  t.Waiting(1, 1, 100);
  t.Waiting(2, 2, 60);
  MeasureKinds(t, 1);
  Grant held{.node = NodeId(2), .cpus = 0, .gpu_share = kWhole, .devices = {DeviceId(0)}};
  WorkItem& running = t.Waiting(3, 3, 60);
  running.running = true;
  running.grant = &held;
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:1"));
  MeasureKinds(t, 100);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
}

TEST(FixedWidthPackerTest, WhereAllFindRoomTheyAreSpread) {
  TestViews t(4);
  t.Study(1, {.cpus = 0, .gpus = 200});
  t.Study(2, {.cpus = 0, .gpus = 400});
  for (std::uint32_t trial = 1; trial <= 4; ++trial) t.Waiting(1, trial, 10);
  for (std::uint32_t trial = 1; trial <= 4; ++trial) t.Waiting(2, trial, 10);
  EXPECT_THAT(Used(Fill(t).plan),
              ElementsAre(Pair(0, 600), Pair(1, 600), Pair(2, 600), Pair(3, 600)));
  // Trials are not spread if others would then have to wait.
  for (std::uint32_t trial = 5; trial <= 12; ++trial) t.Waiting(2, trial, 10);
  EXPECT_EQ(Used(Fill(t).plan)[0], 1000);
}

TEST(FixedWidthPackerTest, TrialsToComeAreAskedFor) {
  TestViews t(2);
  StudyView& study = t.Study(1, {.cpus = 0, .gpus = 500});
  study.open = true;
  study.left = 3;
  study.max_budget = 10;
  const Plan plan = Fill(t).plan;
  EXPECT_THAT(plan.placements, IsEmpty());
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 3);
}

TEST(FixedWidthPackerTest, ATrialOnItsWayCountsWithAllItsWork) {
  TestViews t(1);
  StudyView& study = t.Study(1, {.cpus = 0, .gpus = 1000});
  study.open = true;
  study.coming = 1;  // the last
  study.max_budget = 100;
  t.Study(2, {.cpus = 0, .gpus = 1000});
  t.Waiting(2, 1, 50);
  LearnUnitSpeeds(t);
  EXPECT_THAT(Fill(t).plan.placements, IsEmpty());
  t.view.studies[0].max_budget = 20;
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:1"));
}

TEST(FixedWidthPackerTest, AStudyThatHasEndedIsAskedForNoMore) {
  TestViews t(4);
  StudyView& study = t.Study(1, {.cpus = 0, .gpus = 1000});
  study.coming = 1;
  study.left = 100;
  study.max_budget = 100;
  LearnUnitSpeeds(t);
  const Plan plan = Fill(t).plan;
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 1) << "only the trial that is on its way";
}

TEST(FixedWidthPackerTest, NoTrialLeavesForOneThatIsNotThere) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000}).start_up_known = true;
  t.Running(1, 1, 10, 1000).heard = now;
  t.view.studies[0].open = true;
  t.view.studies[0].left = 3;
  t.view.studies[0].max_budget = 100;
  LearnUnitSpeeds(t);
  const Filled filled = Fill(t, now);
  EXPECT_THAT(filled.leaving, IsEmpty());
  ASSERT_EQ(filled.plan.wanted_room.size(), 1U);
}

TEST(FixedWidthPackerTest, ADeviceWaitsForAllOfItsSet) {
  TestViews t(2);
  StudyView& study = t.Study(1, {.cpus = 0, .gpus = 500});
  study.open = true;
  study.left = 1;
  study.max_budget = 100;
  t.Study(2, {.cpus = 0, .gpus = 500});
  t.Study(3, {.cpus = 0, .gpus = 1000});
  t.Waiting(2, 1, 100);
  for (std::uint32_t i = 2; i <= 3; ++i) t.Waiting(3, i, 60);
  LearnUnitSpeeds(t);
  // The other device need not wait.
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("2:1"));
  t.view.studies[0].left = 0;
  t.view.studies[0].open = false;
  t.Waiting(1, 4, 100);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), UnorderedElementsAre("2:1", "1:0.5", "4:0.5"));
}

TEST(FixedWidthPackerTest, NoMoreThanAStudyMayRunAtOnce) {
  TestViews t(4);
  t.Study(1, {.cpus = 0, .gpus = 1000}).parallelism = 2;
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 10);
  EXPECT_EQ(Fill(t).plan.placements.size(), 2U);
}

TEST(FixedWidthPackerTest, AWideTrialComesBeforeThoseThatFillItsDevices) {
  TestViews t(3);
  t.Study(1, {.cpus = 0, .gpus = 1000});
  t.Study(2, {.cpus = 0, .gpus = 2000});
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 100);
  t.Waiting(2, 1, 200);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:2", "1:1"));
}

TEST(FixedWidthPackerTest, AShortWideTrialWaitsForThoseThatTakeLong) {
  TestViews t(3);
  t.Study(1, {.cpus = 0, .gpus = 1000});
  t.Study(2, {.cpus = 0, .gpus = 2000});
  t.Waiting(1, 1, 100);
  t.Waiting(2, 2, 10);
  LearnUnitSpeeds(t);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:1", "2:2"));
  t.Waiting(1, 3, 100);
  EXPECT_THAT(TestViews::Placed(Fill(t).plan), ElementsAre("1:1", "3:1"));
}

TEST(FixedWidthPackerTest, OneThatHasJustReportedMakesWayForALongerOne) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000}).start_up_known = true;
  t.Running(1, 1, 10, 1000).heard = now;
  t.Waiting(1, 2, 100);
  EXPECT_THAT(Fill(t, now).leaving, ElementsAre(TrialKey{StudyId(1), TrialId(1)}));
  t.view.items[0].heard = {};  // its work since then would be lost
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

// Two trials run side by side on one device. One waiting trial needs the places of both, another
// waiting trial needs one place.
TestViews WithOneLate(Time now) {
  TestViews t(2);
  t.Study(1, {.cpus = 0, .gpus = 500}).start_up_known = true;
  t.Study(2, {.cpus = 0, .gpus = 900}).start_up_known = true;
  t.Running(1, 1, 40, 500).heard = now;
  t.Running(1, 2, 40, 500);
  t.Running(2, 3, 70, 900);
  t.Waiting(2, 4, 220);
  t.Waiting(1, 5, 60);
  LearnUnitSpeeds(t);
  return t;
}

TEST(FixedWidthPackerTest, RoomIsKeptForOneThatWouldBeTheLast) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t = WithOneLate(now);
  t.view.speeds = &t.speeds;
  Filled filled = Fill(t, now);
  EXPECT_THAT(filled.leaving, ElementsAre(TrialKey{StudyId(1), TrialId(1)}));
  EXPECT_THAT(filled.plan.placements, IsEmpty());
  // Then the second trial reports and makes room too.
  t.view.items[0].running = false;
  t.view.items[1].heard = now;
  filled = Fill(t, now);
  EXPECT_THAT(filled.leaving, ElementsAre(TrialKey{StudyId(1), TrialId(2)}));
  t.view.items[1].running = false;
  filled = Fill(t, now);
  EXPECT_THAT(TestViews::Placed(filled.plan), ElementsAre("4:0.9"));
}

TEST(FixedWidthPackerTest, WhileOneLeavesForTheLastNoOtherHasTo) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(3);
  t.Study(1, {.cpus = 0, .gpus = 500}).start_up_known = true;
  t.Study(2, {.cpus = 0, .gpus = 900}).start_up_known = true;
  for (std::uint32_t trial = 1; trial <= 6; ++trial) t.Running(1, trial, 40, 500);
  t.Waiting(2, 7, 300);
  LearnUnitSpeeds(t);
  t.view.items[2].leaving = true;  // of the second device
  t.view.items[4].heard = now;     // of the third
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
  t.view.items[2].leaving = false;
  EXPECT_THAT(Fill(t, now).leaving, ElementsAre(TrialKey{StudyId(1), TrialId(5)}));
}

TEST(FixedWidthPackerTest, NoTrialThatIsAboutToEndMakesWayForTheLast) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t = WithOneLate(now);
  t.view.speeds = &t.speeds;
  t.view.studies[0].leaving = std::chrono::seconds(90);  // more than it has left
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

TEST(FixedWidthPackerTest, TheLastDoesNotMakeWay) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 500}).start_up_known = true;
  t.Study(2, {.cpus = 0, .gpus = 510}).start_up_known = true;
  t.Running(1, 1, 100, 500).heard = now;
  for (std::uint32_t trial = 2; trial <= 6; ++trial) t.Waiting(2, trial, 5);
  for (const StudyView& study : t.view.studies)
    t.speeds.Learn({.shape = std::string(study.shape), .kind = "A100", .width = study.demand.gpus},
                   1, 1);
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

TEST(FixedWidthPackerTest, NoRoomIsKeptWhileOthersHaveAsMuchToDo) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t = WithOneLate(now);
  t.view.speeds = &t.speeds;
  for (std::uint32_t trial = 6; trial <= 15; ++trial) t.Waiting(1, trial, 60);
  EXPECT_THAT(TestViews::Placed(Fill(t, now).plan), ElementsAre("5:0.5"));
}

TEST(FixedWidthPackerTest, NoTrialMakesWayWhereOneGoodTrialIsEnough) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000}).start_up_known = true;
  t.Running(1, 1, 10, 1000).heard = now;
  t.Waiting(1, 2, 100);
  t.view.studies[0].ends_when_good_enough = true;
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

TEST(FixedWidthPackerTest, SavingCountsInThePriceOfATurn) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000}).start_up_known = true;
  t.Running(1, 1, 10, 1000).heard = now;
  t.Waiting(1, 2, 100);
  t.view.studies[0].leaving = std::chrono::seconds(60);
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

TEST(FixedWidthPackerTest, DearTurnsAreLeftForTheEnd) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  StudyView& study = t.Study(1, {.cpus = 0, .gpus = 1000});
  study.start_up_known = true;
  study.start_up = std::chrono::seconds(2);
  t.Running(1, 1, 10, 1000).heard = now;
  t.Waiting(1, 2, 100);
  EXPECT_EQ(Fill(t, now).leaving.size(), 1U);
  for (std::uint32_t i = 3; i <= 12; ++i) t.Waiting(1, i, 100);
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

TEST(FixedWidthPackerTest, NoTrialMakesWayWhereThatCostsMuchOrTrialsAreJudged) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 0, .gpus = 1000}).start_up_known = true;
  t.Running(1, 1, 10, 1000).heard = now;
  t.Waiting(1, 2, 100);
  t.view.studies[0].start_up = std::chrono::seconds(60);
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
  t.view.studies[0].start_up = {};
  t.view.studies[0].judged = true;
  EXPECT_THAT(Fill(t, now).leaving, IsEmpty());
}

TEST(FixedWidthPackerTest, CoresAreFilledWhereNoDeviceIsNeeded) {
  TestViews t(1, /*cpus=*/3000);
  t.Study(1, {.cpus = 1000, .gpus = 0});
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 10);
  EXPECT_EQ(Fill(t).plan.placements.size(), 3U);
}

}  // namespace
}  // namespace sluice
