#include "policy/published/hypersack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr HyperSack::Options kFirstFit{};
constexpr HyperSack::Options kFirstFitDecreasing{.longest_first = true};
constexpr HyperSack::Options kWorstFit{.worst_fit = true};
constexpr HyperSack::Options kWorstFitDecreasing{.longest_first = true, .worst_fit = true};

Demand Light(Milli share, std::int64_t memory_bytes = 1) {
  return {.cpus = 1000, .gpus = share, .memory_bytes = memory_bytes};
}

// "1@0" for each placement: trial and device.
std::vector<std::string> Where(const Plan& plan) {
  std::vector<std::string> where;
  for (const auto& [trial, grant] : plan.placements) {
    std::string text = std::to_string(Number(trial.trial)) + "@";
    for (const DeviceId device : grant.devices) text += std::to_string(Number(device));
    where.push_back(std::move(text));
  }
  return where;
}

Plan HyperSackPlan(HyperSack::Options options, const TestViews& t, Time now = {}) {
  return HyperSack(options).Propose(t.cluster, t.view, now);
}

TEST(HyperSackTest, TheFirstDeviceThatFitsAgainstTheOneWithTheMostFreeCompute) {
  TestViews t(3);
  t.Study(1, Light(400));
  for (std::uint32_t i = 1; i <= 5; ++i) t.Waiting(1, i, 1);
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t)), ElementsAre("1@0", "2@0", "3@1", "4@1", "5@2"));
  EXPECT_THAT(Where(HyperSackPlan(kWorstFit, t)), ElementsAre("1@0", "2@1", "3@2", "4@0", "5@1"));
}

TEST(HyperSackTest, TheLongestFirstAndATrialWithoutRoomIsPassedOver) {
  TestViews t(1);
  t.Study(1, Light(700));
  t.Study(2, Light(300));
  t.Waiting(1, 1, 5);
  t.Waiting(1, 2, 9);
  t.Waiting(2, 3, 1);
  t.Waiting(2, 4, 2);
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t)), ElementsAre("1@0", "3@0"));
  EXPECT_THAT(Where(HyperSackPlan(kFirstFitDecreasing, t)), ElementsAre("2@0", "4@0"));
}

TEST(HyperSackTest, WhatIsLeftCountsNotWhatWas) {
  TestViews t(1);
  t.Study(1, Light(600));
  t.Waiting(1, 1, 10).done = 8;
  t.Waiting(1, 2, 5);
  EXPECT_THAT(Where(HyperSackPlan(kWorstFitDecreasing, t)), ElementsAre("2@0"));
}

TEST(HyperSackTest, AWaitingTrialComesBeforeThoseItsStudyHasYetToPropose) {
  constexpr HyperSack::Options kOptimal{.longest_first = true, .optimal = true};
  for (const HyperSack::Options options : {kFirstFitDecreasing, kWorstFitDecreasing, kOptimal}) {
    TestViews t(1);
    StudyView& study = t.Study(1, Light(600));
    study.open = true;
    study.max_budget = 27;
    study.left = 5;
    t.Waiting(1, 1, 1);  // to its first rung
    EXPECT_THAT(Where(HyperSackPlan(options, t)), ElementsAre("1@0"));
    t.view.studies[0].left = 0;  // the study may still resume a trial
    EXPECT_THAT(Where(HyperSackPlan(options, t)), ElementsAre("1@0"));
  }
}

TEST(HyperSackTest, ATrialThatMayNeverComeKeepsNoOtherWaiting) {
  TestViews t(1);
  StudyView& resumes = t.Study(1, Light(600));
  resumes.open = true;
  resumes.max_budget = 27;
  t.Study(2, Light(600));
  t.Waiting(2, 1, 3);
  const Plan plan = HyperSackPlan(kWorstFitDecreasing, t);
  EXPECT_THAT(Where(plan), ElementsAre("1@0"));
  EXPECT_THAT(plan.wanted_room, IsEmpty());
}

TEST(HyperSackTest, EqualTrialsByTheirSizeThenInTheOrderTheyCame) {
  TestViews t(1);
  t.Study(1, Light(200));
  t.Study(2, Light(300));
  t.Waiting(1, 2, 5);
  t.Waiting(1, 1, 5);
  t.Waiting(2, 3, 5);
  EXPECT_THAT(Where(HyperSackPlan(kFirstFitDecreasing, t)), ElementsAre("3@0", "2@0", "1@0"));
}

TEST(HyperSackTest, OfEquallyFreeDevicesTheOneWithMoreMemory) {
  TestViews t(2);
  t.Study(1, Light(500, 9));
  t.Study(2, Light(500, 1));
  t.Running(1, 1, 1, 500);  // on device 0
  t.cluster.Take({.node = NodeId(1),
                  .cpus = 0,
                  .gpu_share = 500,
                  .memory_bytes = 4,
                  .devices = {DeviceId(1)}});
  t.Waiting(2, 2, 1);
  EXPECT_THAT(Where(HyperSackPlan(kWorstFit, t)), ElementsAre("2@1"));
}

TEST(HyperSackTest, EveryResourceBounds) {
  const auto placed = [](const Demand& demand, Milli cpus = 1000 * kWhole) {
    TestViews t(2, cpus);
    t.Study(1, demand);
    for (std::uint32_t i = 1; i <= 200; ++i) t.Waiting(1, i, 1);
    return HyperSackPlan(kWorstFitDecreasing, t).placements.size();
  };
  EXPECT_EQ(placed({.cpus = 0, .gpus = 100, .memory_bytes = 1}), 20U);
  EXPECT_EQ(placed({.cpus = 0, .gpus = 100, .memory_bytes = 10 << 10}), 8U)
      << "each device has 40 KiB";
  EXPECT_EQ(placed({.cpus = 0, .gpus = 100, .memory_bytes = 1, .bandwidth = 300}), 6U);
  EXPECT_EQ(placed({.cpus = 0, .gpus = 1, .memory_bytes = 1}), 2U * kMostClients);
  EXPECT_EQ(placed({.cpus = 1000, .gpus = 100, .memory_bytes = 1}, 5000), 5U);
}

TEST(HyperSackTest, FreeComputeIsWhatTheTrialWouldMakeOfIt) {
  TestViews t(1);
  t.JoinH100();
  const std::vector<KindNeed> measured = {{"A100", {.gpus = 400}}, {"H100", {.gpus = 200}}};
  Demand demand = Light(400);
  demand.kinds = std::make_shared<const std::vector<KindNeed>>(measured);
  t.Study(1, demand);
  for (int i = 0; i < 64; ++i) {
    t.speeds.Learn({.shape = "study1", .kind = "A100", .width = 400}, 1, 2);
    t.speeds.Learn({.shape = "study1", .kind = "H100", .width = 200}, 1, 1);
  }
  for (std::uint32_t i = 1; i <= 7; ++i) t.Waiting(1, i, 1);
  const Plan plan = HyperSackPlan(kWorstFit, t);
  std::vector<std::uint32_t> nodes;
  std::vector<Milli> shares;
  for (const Placement& placement : plan.placements) {
    nodes.push_back(Number(placement.grant.node));
    shares.push_back(placement.grant.gpu_share);
  }
  // An H100 is twice as fast for the trial, so half of it is worth a whole A100.
  EXPECT_THAT(nodes, ElementsAre(2, 2, 2, 1, 2, 1, 2));
  EXPECT_THAT(shares, ElementsAre(200, 200, 200, 400, 200, 400, 200));
}

TEST(HyperSackTest, TrialsThatAreStillToBeProposedTakeTheirPlaceInTheOrder) {
  TestViews t(1);
  t.Study(1, Light(300)).max_budget = 2;
  t.Study(2, Light(400)).max_budget = 9;
  t.view.studies[1].open = true;
  t.view.studies[1].left = 5;
  t.Waiting(1, 1, 2);
  t.Waiting(1, 2, 2);
  const Plan longest = HyperSackPlan(kFirstFitDecreasing, t);
  EXPECT_THAT(Where(longest), IsEmpty());
  ASSERT_EQ(longest.wanted_room.size(), 1U);
  EXPECT_EQ(longest.wanted_room[0].trials, 2);
  const Plan in_order = HyperSackPlan(kFirstFit, t);
  EXPECT_THAT(Where(in_order), ElementsAre("1@0", "2@0"));
  ASSERT_EQ(in_order.wanted_room.size(), 1U);
  EXPECT_EQ(in_order.wanted_room[0].trials, 1);
}

TEST(HyperSackTest, NoTrialWaitsForTrialsOfItsOwnStudyThatAreNotThereYet) {
  TestViews t(1);
  t.Study(1, Light(500)).max_budget = 100;
  t.view.studies[0].open = true;
  t.view.studies[0].left = 50;
  t.Waiting(1, 1, 1);  // a rung of one unit
  t.Waiting(1, 2, 9);
  EXPECT_THAT(Where(HyperSackPlan(kWorstFitDecreasing, t)), ElementsAre("2@0", "1@0"));
  t.view.studies[0].left = 0;  // all are proposed, and some may be resumed
  EXPECT_THAT(Where(HyperSackPlan(kWorstFitDecreasing, t)), ElementsAre("2@0", "1@0"));
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t)), ElementsAre("1@0", "2@0"));
}

TEST(HyperSackTest, AStudyKeepsToItsParallelism) {
  TestViews t(2);
  t.Study(1, Light(100)).parallelism = 3;
  t.view.studies[0].open = true;
  t.Running(1, 9, 1, 100);
  t.Waiting(1, 1, 1);
  const Plan plan = HyperSackPlan(kWorstFit, t);
  EXPECT_THAT(Where(plan), ElementsAre("1@1"));
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 1);
}

TEST(HyperSackTest, ATrialThatLacksMemoryIsNotPassedOverForEver) {
  constexpr std::int64_t kBig = 30 << 10;
  TestViews t(2);
  t.Study(1, Light(100, kBig));
  t.Study(2, Light(100, 8 << 10));
  for (std::uint32_t i = 11; i <= 16; ++i)
    t.Running(2, i, 1, 100);  // five on one, one on the other
  const Time long_after = Time(std::chrono::hours(1));
  t.Waiting(1, 1, 3);
  for (std::uint32_t i = 21; i <= 24; ++i) t.Waiting(2, i, 3).since = long_after;
  // The big trial is placed first, on device 1. No small trial fits then: device 0 is full already.
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t)), ElementsAre("1@1"));
  t.cluster.Take({.node = NodeId(1),
                  .cpus = 0,
                  .gpu_share = 100,
                  .memory_bytes = 8 << 10,
                  .devices = {DeviceId(1)}});
  // Now no device has room for the big trial. While it has waited only a short time, small trials
  // may still take the memory that it lacks.
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t)), ElementsAre("21@1", "22@1", "23@1"));
  EXPECT_THAT(Where(HyperSackPlan(kWorstFitDecreasing, t)), ElementsAre("21@1", "22@1", "23@1"));
  // Once it has waited long, the device with the most free memory takes no other trial.
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t, long_after)), IsEmpty());
  EXPECT_THAT(Where(HyperSackPlan(kWorstFitDecreasing, t, long_after)), IsEmpty());
}

TEST(HyperSackTest, AStudyThatLacksMemoryHasATrialThatWaits) {
  TestViews t(1);
  t.Study(1, Light(100, 30 << 10)).open = true;
  t.Study(2, Light(100, 20 << 10));
  t.Running(2, 9, 1, 100);
  const Plan plan = HyperSackPlan(kWorstFitDecreasing, t);
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 1);
}

TEST(HyperSackTest, TheReferenceFillsWhatTheHeuristicsLeave) {
  TestViews t(1);
  t.Study(1, Light(400));
  t.Study(2, Light(350));
  t.Study(3, Light(250));
  for (std::uint32_t i = 1; i <= 2; ++i) t.Waiting(1, i, 9);
  t.Waiting(2, 3, 5);
  t.Waiting(3, 4, 1);
  EXPECT_THAT(Where(HyperSackPlan(kFirstFitDecreasing, t)), ElementsAre("1@0", "2@0"));
  const Plan plan = HyperSackPlan({.longest_first = true, .optimal = true}, t);
  EXPECT_THAT(Where(plan), ElementsAre("1@0", "3@0", "4@0"));
  EXPECT_FALSE(plan.unproven);
}

TEST(HyperSackTest, TheReferenceKeepsToParallelismAndAsksForTrialsToCome) {
  TestViews t(2);
  t.Study(1, Light(300)).open = true;
  t.view.studies[0].left = 50;
  t.view.studies[0].parallelism = 5;
  t.Running(1, 9, 1, 300);
  t.Waiting(1, 1, 1);
  const Plan plan = HyperSackPlan({.longest_first = true, .optimal = true}, t);
  EXPECT_EQ(plan.placements.size(), 1U);
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].trials, 3);
}

TEST(HyperSackTest, AStudyMayComeBeforeOneWithALesserNumber) {
  TestViews t(1);
  t.Study(3, Light(300));
  t.Study(1, Light(600));
  t.Waiting(1, 1, 1);
  t.Waiting(3, 2, 1);
  t.Waiting(1, 4, 1);
  const Plan plan = HyperSackPlan(kFirstFit, t);
  ASSERT_THAT(Where(plan), ElementsAre("1@0", "2@0"));
  EXPECT_EQ(plan.placements[0].grant.gpu_share, 600);
  EXPECT_EQ(plan.placements[1].grant.gpu_share, 300);
}

TEST(HyperSackTest, TrialsOfSeveralDevicesAndOfNoneFindTheirPlaceToo) {
  TestViews t(3);
  t.Study(1, Light(500));
  t.Study(2, {.cpus = 1000, .gpus = 2000, .memory_bytes = 1});
  t.Study(3, {.cpus = 1000});
  t.Waiting(1, 1, 1);
  t.Waiting(2, 2, 1);
  t.Waiting(3, 3, 1);
  t.Waiting(1, 4, 1);
  t.Waiting(1, 5, 1);
  EXPECT_THAT(Where(HyperSackPlan(kFirstFit, t)), ElementsAre("1@0", "2@12", "3@", "4@0"));
}

}  // namespace
}  // namespace sluice
