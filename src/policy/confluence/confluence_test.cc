#include "policy/confluence/confluence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Twice the width is twice the speed.
void Widen(TestViews& t) { t.speeds = SpeedModel({.widths = *WidthTable("linear")}); }

TEST(ConfluenceTest, ElasticTrialsOfTwoStudiesShareTheDevices) {
  TestViews t(4);
  Widen(t);
  for (const std::uint32_t study : {1, 2}) t.Study(study, kOneToFour).max_budget = 100;
  t.Waiting(1, 1, 100);
  t.Waiting(2, 2, 100);
  EXPECT_THAT(TestViews::Placed(Confluence().Propose(t.cluster, t.view, {})),
              UnorderedElementsAre("1:2", "2:2"));
}

TEST(ConfluenceTest, TrialsOfFixedWidthFillWhatElasticOnesLeave) {
  TestViews t(4);
  Widen(t);
  t.Study(1, kOneToFour).max_budget = 100;
  t.Study(2, {.cpus = 1000, .gpus = 500});
  t.Waiting(1, 1, 100);
  for (std::uint32_t i = 2; i <= 9; ++i) t.Waiting(2, i, 10);
  EXPECT_THAT(TestViews::Placed(Confluence().Propose(t.cluster, t.view, {})),
              UnorderedElementsAre("1:2", "2:0.5", "3:0.5", "4:0.5", "5:0.5"));
}

TEST(ConfluenceTest, TrialsOnCoresAreBundledInWhatOthersLeaveEvenIfTimeIsShort) {
  TestViews t(0, 4 * kWhole);
  t.Study(1, {.cpus = 1000, .gpus = 0});
  t.Study(2, {.cpus = 1000, .gpus = 0, .fused_most = 16});
  t.Running(1, 100, 100, 1000);
  for (std::uint32_t i = 1; i <= 40; ++i) t.Waiting(2, i, 10);
  for (StudyView& study : t.view.studies) {
    study.max_budget = 100;
    study.deadline = Time(std::chrono::seconds(1));
  }
  const Plan plan = Confluence().Propose(t.cluster, t.view, {});
  EXPECT_EQ(plan.placements.size(), 30U) << "10 on each of the three cores that are free";
  for (const auto& [trial, grant] : plan.placements) {
    EXPECT_TRUE(IsSet(grant.bundle));
    EXPECT_THAT(grant.devices, IsEmpty());
  }
}

TEST(ConfluenceTest, WhatIsTooLittleForTrialsOfFixedWidthIsNotKeptForThem) {
  TestViews t(2);
  Widen(t);
  t.Study(1, kOneToFour).max_budget = 100;
  t.Study(2, {.cpus = 1000, .gpus = 2000});
  t.Waiting(1, 1, 100);
  t.Waiting(2, 2, 10);
  EXPECT_THAT(TestViews::Placed(Confluence().Propose(t.cluster, t.view, {})), ElementsAre("1:2"));
}

TEST(ConfluenceTest, AnElasticStudyHasADeviceRatherThanASliverThatKeepsOthersOut) {
  TestViews t(1);
  t.Study(1, {.cpus = 1000, .gpus = 1000});
  StudyView& study = t.Study(2, {.cpus = 1000, .gpus = 1000, .least = 250, .most = 1000});
  study.max_budget = 100;
  study.open = true;
  study.left = 20;
  t.Waiting(1, 1, 100);
  const Plan plan = Confluence().Propose(t.cluster, t.view, {});
  ASSERT_EQ(plan.wanted_room.size(), 1u);
  EXPECT_EQ(plan.wanted_room[0].study, StudyId(2));
  EXPECT_EQ(plan.wanted_room[0].trials, 4);
}

TEST(ConfluenceTest, NoTrialMakesWayForOneOfAnotherStudy) {
  TestViews t(4);
  Widen(t);
  for (const std::uint32_t study : {1, 2}) t.Study(study, kOneToFour).max_budget = 100;
  for (std::uint32_t i = 1; i <= 4; ++i) t.Running(2, 10 + i, 100, 1000);
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 100);
  EXPECT_THAT(TestViews::Placed(Confluence().Propose(t.cluster, t.view, {})),
              UnorderedElementsAre("11:1", "12:1", "13:1", "14:1"));
}

TEST(ConfluenceTest, TrialsThatFuseGoIntoBundles) {
  TestViews t(1);
  t.Study(1, {.cpus = 1000,
              .gpus = 1000,
              .memory_bytes = 2 << 10,
              .fused_most = 8,
              .fused_bytes = 1 << 10});
  for (std::uint32_t i = 1; i <= 3; ++i) t.Waiting(1, i, 10);
  const Plan plan = Confluence().Propose(t.cluster, t.view, {});
  ASSERT_EQ(plan.placements.size(), 3U);
  for (const Placement& placement : plan.placements)
    EXPECT_EQ(placement.grant.bundle, plan.placements[0].grant.bundle);
}

TEST(ConfluenceTest, ARunningTrialThatIsNotMovedStays) {
  TestViews t(2);
  t.Study(1, {.cpus = 1000, .gpus = 1000});
  t.Running(1, 1, 10, 1000);
  t.Waiting(1, 2, 10);
  const Plan plan = Confluence().Propose(t.cluster, t.view, {});
  EXPECT_TRUE(plan.keeps_running);
  EXPECT_THAT(TestViews::Placed(plan), ElementsAre("2:1"));
}

TEST(ConfluenceTest, WhereAllEndsInTimeADeadlineChangesNothing) {
  TestViews t(4);
  StudyView& study = t.Study(1, kOneToFour);
  study.max_budget = 100;
  for (std::uint32_t i = 1; i <= 3; ++i) t.Waiting(1, i, 100);
  const auto placed = [&] {
    return TestViews::Placed(Confluence().Propose(t.cluster, t.view, {}));
  };
  const std::vector<std::string> without = placed();
  study.deadline = Time(std::chrono::hours(1));
  EXPECT_EQ(placed(), without);
}

TEST(ConfluenceTest, StudiesWithDeadlinesHaveTheirShares) {
  TestViews t(4);
  for (const std::uint32_t study : {1u, 2u}) {
    t.Study(study, kOneToFour).deadline = Time(std::chrono::seconds(60));
    for (std::uint32_t i = 1; i <= 3; ++i) t.Waiting(study, 10 * study + i, 100);
  }
  EXPECT_THAT(TestViews::Placed(Confluence().Propose(t.cluster, t.view, {})),
              ElementsAre("11:1", "12:1", "21:1", "22:1"));
}

TEST(ConfluenceTest, ByADeadlineNewTrialsAreAskedForBeforeAnyTrialMoves) {
  TestViews t(4);
  StudyView& study = t.Study(1, kOneToFour);
  study.deadline = Time(std::chrono::seconds(60));
  study.open = true;
  study.left = 10;
  t.Running(1, 1, 100, 1000);
  const Plan plan = Confluence().Propose(t.cluster, t.view, {});
  EXPECT_TRUE(plan.keeps_running);
  ASSERT_EQ(plan.wanted_room.size(), 1u);
  EXPECT_EQ(plan.wanted_room[0].trials, 3);
}

TEST(ConfluenceTest, ATrialOnANodeThatHasShrunkIsLeftAlone) {
  const Time now = Time(std::chrono::seconds(100));
  TestViews t(1);
  t.Study(1, {.cpus = 1000, .gpus = 1000}).start_up_known = true;
  t.Running(1, 1, 10, 1000).heard = now;
  t.Waiting(1, 2, 1000);
  Node node = t.cluster.nodes()[0];
  node.cpus = 0;
  t.cluster.Change(NodeId(1), node);
  const Plan plan = Confluence().Propose(t.cluster, t.view, now);
  EXPECT_TRUE(plan.keeps_running);
  EXPECT_THAT(plan.placements, IsEmpty());
}

TEST(ConfluenceTest, NothingIsPlannedOfNothing) {
  TestViews t(1);
  const Plan plan = Confluence().Propose(t.cluster, t.view, {});
  EXPECT_THAT(plan.placements, IsEmpty());
  EXPECT_THAT(plan.wanted_room, IsEmpty());
}

}  // namespace
}  // namespace sluice
