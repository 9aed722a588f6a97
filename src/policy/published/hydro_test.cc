#include "policy/published/hydro.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Demand kFusable{
    .cpus = 1000, .gpus = 1000, .memory_bytes = 2 << 10, .fused_most = 8, .fused_bytes = 1 << 10};

// How many trials the plan puts into each bundle, in the order of bundles.
std::vector<int> Sizes(const Plan& plan) {
  std::map<BundleId, int> sizes;
  for (const Placement& placement : plan.placements) ++sizes[placement.grant.bundle];
  std::vector<int> all;
  for (const auto& [bundle, size] : sizes) all.push_back(size);
  return all;
}

int Asked(const Plan& plan) {
  return plan.wanted_room.empty() ? 0 : plan.wanted_room.front().trials;
}

TEST(HydroTest, TrialsAreSpreadEvenlyOverTheDevices) {
  TestViews t(3);
  t.Study(1, kFusable);
  for (std::uint32_t i = 1; i <= 9; ++i) t.Waiting(1, i, 1);
  const Plan plan = Hydro().Propose(t.cluster, t.view, {});
  EXPECT_TRUE(plan.keeps_running);
  EXPECT_THAT(Sizes(plan), ElementsAre(3, 3, 3));
}

TEST(HydroTest, NoBundleIsLargerThanItMayBe) {
  TestViews t(2);
  t.Study(1, kFusable);
  for (std::uint32_t i = 1; i <= 30; ++i) t.Waiting(1, i, 1);
  EXPECT_THAT(Sizes(Hydro().Propose(t.cluster, t.view, {})), ElementsAre(8, 8));
  t.view.studies[0].parallelism = 10;
  EXPECT_THAT(Sizes(Hydro().Propose(t.cluster, t.view, {})), ElementsAre(5, 5));
}

TEST(HydroTest, TrialsToComeAreAskedForAndKeepTheirPlace) {
  TestViews t(2);
  t.Study(1, kFusable).open = true;
  t.view.studies[0].left = 7;
  t.Waiting(1, 1, 1);
  const Plan plan = Hydro().Propose(t.cluster, t.view, {});
  EXPECT_THAT(Sizes(plan), ElementsAre(1));
  EXPECT_EQ(Asked(plan), 7);
}

TEST(HydroTest, ABundleThatLostMembersTakesInOthers) {
  TestViews t(1);
  t.Study(1, kFusable);
  const Grant member{.node = NodeId(1),
                     .cpus = 1000,
                     .gpu_share = kWhole,
                     .memory_bytes = 1 << 10,
                     .devices = {DeviceId(0)},
                     .bundle = BundleId(5),
                     .program_bytes = 1 << 10};
  for (std::uint32_t i = 1; i <= 6; ++i) {
    t.cluster.Take(member);
    t.view.items.push_back({.trial = {StudyId(1), TrialId(i)},
                            .demand = kFusable,
                            .target = 9,
                            .shape = "study1",
                            .running = true,
                            .launch_reports = 3,
                            .grant = &member});
  }
  for (std::uint32_t i = 7; i <= 20; ++i) t.Waiting(1, i, 1);
  const Plan plan = Hydro().Propose(t.cluster, t.view, {});
  ASSERT_EQ(plan.placements.size(), 2U);
  EXPECT_EQ(plan.placements[0].grant, member);
}

TEST(HydroTest, StudiesThatCannotBeFusedStartOneByOne) {
  TestViews t(3);
  t.Study(1, {.cpus = 1000, .gpus = 1000, .memory_bytes = 1});
  t.Waiting(1, 1, 1);
  t.Waiting(1, 2, 1);
  EXPECT_THAT(TestViews::Placed(Hydro().Propose(t.cluster, t.view, {})), ElementsAre("1:1", "2:1"));
}

// A cluster with one device that is not lent, and two that are.
TestViews WithLent(Milli open) {
  TestViews t(1);
  Node lender{.name = "lender", .cpus = 8000, .devices = {}};
  for (const char* name : {"a", "b"}) {
    lender.devices.push_back({.uuid = name, .kind = "A100", .memory_bytes = 8 << 10, .open = open});
  }
  t.cluster.Join(std::move(lender));
  return t;
}

TEST(HydroTest, BubblesTakeBundlesSizedToTheirMemory) {
  TestViews t = WithLent(200);
  t.view.speeds = &t.speeds;
  t.Study(1, kFusable);
  for (std::uint32_t i = 1; i <= 200; ++i) t.Waiting(1, i, 1);
  // 95 % of 8 KiB is used: 2 KiB for the first trial, and 1 KiB for each of 5 more.
  EXPECT_THAT(Sizes(Hydro().Propose(t.cluster, t.view, {})), ElementsAre(8, 6, 6));
  t.view.studies[0].demand.lent = false;
  EXPECT_THAT(Sizes(Hydro().Propose(t.cluster, t.view, {})), ElementsAre(8));
}

TEST(HydroTest, WhatIsWorkedOffSoonerElsewhereStaysOutOfBubbles) {
  TestViews t = WithLent(50);
  t.view.speeds = &t.speeds;
  t.Study(1, kFusable);
  for (std::uint32_t i = 1; i <= 12; ++i) t.Waiting(1, i, 1);
  const Plan plan = Hydro().Propose(t.cluster, t.view, {});
  EXPECT_THAT(Sizes(plan), ElementsAre(8));
}

// A trial of study 1 that has reported ten times. Its bundle holds the whole device that is not
// lent.
Grant RunsAtHome(TestViews& t, std::uint32_t trial) {
  Grant grant{.node = NodeId(1),
              .cpus = 0,
              .gpu_share = kWhole,
              .devices = {DeviceId(0)},
              .bundle = BundleId(1)};
  t.cluster.Take(grant);
  WorkItem& item = t.Waiting(1, trial, 20);
  --t.view.studies[0].waiting;
  item.running = true;
  item.done = 10;
  item.launch_reports = 10;
  return grant;
}

TEST(HydroTest, WithMovesATrialThatSoonHasRoomAtHomeWaitsForIt) {
  TestViews t = WithLent(200);
  t.view.speeds = &t.speeds;
  t.Study(1, kFusable);
  const Grant held = RunsAtHome(t, 100);
  t.view.items[0].grant = &held;
  for (std::uint32_t i = 1; i <= 7; ++i) t.Waiting(1, i, 1);
  for (const auto& [trial, grant] : Hydro(/*moves=*/true).Propose(t.cluster, t.view, {}).placements)
    EXPECT_EQ(grant.node, NodeId(1));
  for (std::uint32_t i = 8; i <= 11; ++i) t.Waiting(1, i, 1);
  EXPECT_THAT(Sizes(Hydro(/*moves=*/true).Propose(t.cluster, t.view, {})), ElementsAre(7, 2, 2));
}

TEST(HydroTest, WithMovesWhatAnotherStudyHoldsIsNoHome) {
  TestViews t = WithLent(200);
  t.view.speeds = &t.speeds;
  t.Study(1, kFusable);
  t.Study(2, {.cpus = 1000, .gpus = 1000});
  t.Running(2, 1, 100, 1000);
  for (std::uint32_t i = 1; i <= 8; ++i) t.Waiting(1, i, 1);
  EXPECT_THAT(Sizes(Hydro(/*moves=*/true).Propose(t.cluster, t.view, {})), ElementsAre(4, 4));
}

TEST(HydroTest, WithMovesNoTrialGoesWhereItReportsTooLateToComeHome) {
  TestViews t = WithLent(50);
  t.view.speeds = &t.speeds;
  t.Study(1, kFusable);
  const Grant held = RunsAtHome(t, 100);
  t.view.items[0].grant = &held;
  for (std::uint32_t i = 1; i <= 19; ++i) t.Waiting(1, i, 1);
  const auto lent = [&] {
    int count = 0;
    for (const auto& [trial, grant] :
         Hydro(/*moves=*/true).Propose(t.cluster, t.view, {}).placements)
      count += grant.node == NodeId(2) ? 1 : 0;
    return count;
  };
  EXPECT_GT(lent(), 0);
  t.view.items[0].launch_reports = 1;  // trials report only once in ten units
  EXPECT_EQ(lent(), 0);
}

TEST(HydroTest, NoOtherPolicyRunsTrialsInBubbles) {
  TestViews t = WithLent(200);
  t.view.speeds = &t.speeds;
  t.Study(1, {.cpus = 1000, .gpus = 1000, .memory_bytes = 1});
  for (std::uint32_t i = 1; i <= 4; ++i) t.Waiting(1, i, 1);
  for (const char* name : {"fifo", "lpt", "hypersack-ff", "hypersack-wfd", "hypersack-mip"}) {
    auto policy = MakePolicy(name);
    ASSERT_TRUE(policy);
    EXPECT_THAT(TestViews::Placed((*policy)->Propose(t.cluster, t.view, {})), ElementsAre("1:1"))
        << name;
  }
}

// One node without devices. Up to eight trials of the study can be fused. A trial takes one core,
// and so does a bundle.
struct OnCores {
  explicit OnCores(int cores) : t(0, cores * kWhole) {
    t.Study(1, {.cpus = 1000, .gpus = 0, .fused_most = 8});
  }

  StudyView& study() { return t.view.studies[0]; }
  WorkItem& Waits(std::uint32_t trial, std::string_view shape = "study1") {
    WorkItem& item = t.Waiting(1, trial, 1);
    item.shape = shape;
    return item;
  }
  // A member of a bundle. The item is valid until the next item is added.
  WorkItem& Runs(std::uint32_t trial, std::uint32_t bundle, std::string_view shape = "study1") {
    grants_.push_back({.node = NodeId(1), .cpus = 1000, .devices = {}, .bundle = BundleId(bundle)});
    t.cluster.Take(grants_.back());
    WorkItem& item = Waits(trial, shape);
    --study().waiting;
    ++study().running;
    item.running = true;
    item.grant = &grants_.back();
    return item;
  }
  Plan Proposed() { return Hydro().Propose(t.cluster, t.view, {}); }
  // "1:5" for trial 1 in bundle 5, in the order of placements; "1:0" for a trial that is not fused.
  std::vector<std::string> Bundled() {
    std::vector<std::string> bundled;
    for (const auto& [trial, grant] : Proposed().placements)
      bundled.push_back(fmt::format("{}:{}", Number(trial.trial), Number(grant.bundle)));
    return bundled;
  }

  TestViews t;
  std::deque<Grant> grants_;
};

TEST(HydroOnCoresTest, BundlesRunSideBySideAndTrialsAreSpreadEvenly) {
  OnCores on(4);
  for (std::uint32_t i = 1; i <= 18; ++i) on.Waits(i);
  const Plan plan = on.Proposed();
  EXPECT_THAT(Sizes(plan), ElementsAre(5, 5, 5, 3));
  EXPECT_EQ(plan.placements.front().grant,
            (Grant{.node = NodeId(1), .cpus = 1000, .devices = {}, .bundle = BundleId(1)}));
  for (std::uint32_t i = 19; i <= 100; ++i) on.Waits(i);
  EXPECT_THAT(Sizes(on.Proposed()), ElementsAre(8, 8, 8, 8));
  on.study().demand.cpus = 3000;
  EXPECT_THAT(Sizes(on.Proposed()), ElementsAre(8));
}

TEST(HydroOnCoresTest, BundlesAreFilledAsTrialsCome) {
  OnCores on(4);
  on.study().open = true;
  on.study().left = 19;
  on.Runs(1, 1);
  on.Waits(2);
  EXPECT_THAT(on.Bundled(), ElementsAre("2:1"));
  EXPECT_EQ(Asked(on.Proposed()), 19);
}

TEST(HydroOnCoresTest, TheCoresOfANodeThatLendsDevicesAreForThose) {
  OnCores on(4);
  Node lender{.name = "lender", .cpus = 8000, .devices = {}};
  lender.devices.push_back({.uuid = "a", .kind = "A100", .memory_bytes = 8 << 10, .open = 100});
  on.t.cluster.Join(std::move(lender));
  for (std::uint32_t i = 1; i <= 100; ++i) on.Waits(i);
  EXPECT_THAT(Sizes(on.Proposed()), ElementsAre(8, 8, 8, 8));
}

TEST(HydroOnCoresTest, NoBundleIsLargerThanAProcessTakes) {
  OnCores on(4);
  on.study().capacity = 3;
  for (std::uint32_t i = 1; i <= 100; ++i) on.Waits(i);
  EXPECT_THAT(Sizes(on.Proposed()), ElementsAre(3, 3, 3, 3));
  on.study().capacity = 1;
  EXPECT_THAT(on.Bundled(), ElementsAre("1:0", "2:0", "3:0", "4:0"));
}

TEST(HydroOnCoresTest, AProcessThatIsFullTakesNoMore) {
  OnCores on(3);
  on.Runs(1, 1).capacity = 2;
  on.Runs(2, 1).capacity = 2;
  on.Runs(3, 2).capacity = 2;
  on.Waits(4);
  EXPECT_THAT(on.Bundled(), ElementsAre("4:2"));
  // Bundle 2 also has a trial that is leaving. It still holds its grant, but is not among the
  // policy's items, so the bundle is full.
  on.t.cluster.Take(on.grants_.back());
  EXPECT_THAT(on.Bundled(), ElementsAre("4:3"));
}

TEST(HydroOnCoresTest, ATrialThatMustRunAloneIsNotFused) {
  OnCores on(4);
  on.Runs(1, 1);
  on.Waits(2).alone = true;
  on.Waits(3);
  EXPECT_THAT(on.Bundled(), ElementsAre("2:0", "3:2"));
}

TEST(HydroOnCoresTest, OneBundleEndsForATrialThatMustRunAlone) {
  OnCores on(4);
  for (std::uint32_t i = 1; i <= 12; ++i) on.Runs(i, 1 + i % 4);
  on.Runs(13, 1);
  on.Waits(14).alone = true;
  for (std::uint32_t i = 15; i <= 100; ++i) on.Waits(i);
  const Plan plan = on.Proposed();
  EXPECT_EQ(plan.placements.size(), 4U + 5 + 5);
  for (const auto& [trial, grant] : plan.placements) EXPECT_NE(grant.bundle, BundleId(2));
}

TEST(HydroOnCoresTest, ATrialJoinsOnlyTrialsOfItsShape) {
  OnCores on(4);
  on.Runs(1, 1, "study1 model=mlp");
  on.Waits(2, "study1 model=cnn");
  on.Waits(3, "study1 model=mlp");
  on.Waits(4, "study1 model=cnn");
  // Spread evenly, each core gets one trial: there are as many cores as trials.
  EXPECT_THAT(on.Bundled(), ElementsAre("2:2", "3:3", "4:4"));
  OnCores single(1);
  single.Runs(1, 1, "study1 model=mlp");
  single.Waits(2, "study1 model=cnn");
  single.Waits(3, "study1 model=mlp");
  EXPECT_THAT(single.Bundled(), ElementsAre("3:1"));
}

TEST(HydroOnCoresTest, WhereNoCoreIsLeftTrialsJoinTheirShapeBeyondTheEvenPart) {
  OnCores on(4);
  for (std::uint32_t i = 1; i <= 4; ++i) {
    on.Waits(3 * i - 2, "study1 model=mlp");
    on.Waits(3 * i - 1, "study1 model=cnn");
    on.Waits(3 * i, "study1 model=rnn");
  }
  // 12 trials on 4 cores make 3 each. The fourth bundle is of the first shape that is left.
  EXPECT_THAT(Sizes(on.Proposed()), ElementsAre(3, 4, 4, 1));
}

TEST(HydroOnCoresTest, AProcessThatTakesSeveralShapesPrefersThoseOfItsMembers) {
  OnCores on(2);
  on.study().several_shapes = true;
  on.Runs(1, 1, "study1 model=mlp");
  on.Runs(2, 2, "study1 model=cnn");
  on.Waits(3, "study1 model=cnn");
  on.Waits(4, "study1 model=rnn");
  EXPECT_THAT(on.Bundled(), ElementsAre("3:2", "4:1"));
}

TEST(HydroOnCoresTest, NoMoreTrialsWaitForTheirShapeThanThereIsRoom) {
  OnCores on(1);
  on.study().open = true;
  on.study().left = 100;
  on.Runs(1, 1, "study1 model=mlp");
  EXPECT_EQ(Asked(on.Proposed()), 7);
  for (std::uint32_t i = 2; i <= 6; ++i) on.Waits(i, "study1 model=cnn");
  EXPECT_EQ(Asked(on.Proposed()), 2);
  for (std::uint32_t i = 7; i <= 12; ++i) on.Waits(i, "study1 model=cnn");
  EXPECT_EQ(Asked(on.Proposed()), 0);
}

TEST(HydroTest, BundlesOnDevicesAreOfOneShapeToo) {
  TestViews t(2);
  t.Study(1, kFusable);
  for (std::uint32_t i = 1; i <= 9; ++i)
    t.Waiting(1, i, 1).shape = i % 3 == 0 ? "study1 a=1" : "study1 a=2";
  const Plan plan = Hydro().Propose(t.cluster, t.view, {});
  EXPECT_THAT(Sizes(plan), ElementsAre(6, 3));
  for (const auto& [trial, grant] : plan.placements)
    EXPECT_EQ(grant.bundle == BundleId(2), Number(trial.trial) % 3 == 0);
}

TEST(HydroTest, WithNothingToDoNothingIsPlanned) {
  TestViews t(2);
  t.Study(1, kFusable);
  const Plan plan = Hydro().Propose(t.cluster, t.view, {});
  EXPECT_THAT(plan.placements, IsEmpty());
  EXPECT_THAT(plan.wanted_room, IsEmpty());
}

}  // namespace
}  // namespace sluice
