#include "policy/confluence/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

// Twice the width is less than twice the speed.
void Slow(TestViews& t) { t.speeds = SpeedModel({.widths = *WidthTable("resnet50")}); }

TEST(FairShareTest, EqualPartsInWholeDevices) {
  EXPECT_THAT(FairShares(8000, {{.most = 9000}, {.most = 9000}}), ElementsAre(4000, 4000));
  EXPECT_THAT(FairShares(8000, {{.most = 9000}, {.most = 9000}, {.most = 9000}}),
              ElementsAre(3000, 3000, 2000));
}

TEST(FairShareTest, WhatOneCannotUseGoesToTheOthers) {
  EXPECT_THAT(FairShares(8000, {{.most = 500}, {.most = 9000}, {.most = 2000}}),
              ElementsAre(500, 5500, 2000));
  EXPECT_THAT(FairShares(8000, {{.most = 1000}, {.most = 2000}}), ElementsAre(1000, 2000));
  EXPECT_THAT(FairShares(8000, {{.most = 0}, {.most = 9000}}), ElementsAre(0, 8000));
}

TEST(FairShareTest, WeightsCount) {
  EXPECT_THAT(FairShares(8000, {{.most = 9000, .weight = 3}, {.most = 9000, .weight = 1}}),
              ElementsAre(6000, 2000));
  // The claims of weights 2 and 1 are larger than what there is. The claim of weight 5 is one
  // device.
  EXPECT_THAT(FairShares(10'000, {{.most = 9000, .weight = 2},
                                  {.most = 9000, .weight = 1},
                                  {.most = 1000, .weight = 5}}),
              ElementsAre(6000, 3000, 1000));
}

TEST(FairShareTest, WhatIsLeftOfADivisionGoesToTheClaimThatLacksMost) {
  // 5.33 and 2.67 devices, in either order.
  EXPECT_THAT(FairShares(8000, {{.most = 9000, .weight = 2}, {.most = 9000, .weight = 1}}),
              ElementsAre(5000, 3000));
  EXPECT_THAT(FairShares(8000, {{.most = 9000, .weight = 1}, {.most = 9000, .weight = 2}}),
              ElementsAre(3000, 5000));
  EXPECT_THAT(FairShares(8000, {{.most = 9000, .weight = 0.001}, {.most = 9000, .weight = 1000}}),
              ElementsAre(0, 8000));
  // A rounding error costs no claim a device.
  EXPECT_THAT(FairShares(9000, {{.most = 9000, .weight = 0.2}, {.most = 9000, .weight = 0.1}}),
              ElementsAre(6000, 3000));
}

TEST(FairShareTest, StudiesHaveTheWeightsTheySay) {
  TestViews t(6);
  t.Study(1, {.gpus = 1000, .least = 1000, .most = 4000}).weight = 2;
  t.Study(2, {.gpus = 1000, .least = 1000, .most = 4000});
  for (std::uint32_t i = 1; i <= 20; ++i) t.Waiting(1, i, 5), t.Waiting(2, i, 5);
  EXPECT_THAT(SharesOf(t.cluster, t.view), ElementsAre(4000, 2000));
}

TEST(FairShareTest, NoTrialIsWiderThanPaysWhileAnotherStudyCouldUseTheDevices) {
  TestViews t(6);
  Slow(t);
  t.Study(1, kOneToFour);
  t.Study(2, kOneToFour);
  t.Waiting(1, 1, 5);
  for (std::uint32_t i = 2; i <= 20; ++i) t.Waiting(2, i, 5);
  EXPECT_THAT(SharesOf(t.cluster, t.view), ElementsAre(3000, 3000));
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(1000, 5000));
}

TEST(FairShareTest, WhatNoStudyUsesThriftilyIsForTrialsThatCanBeWider) {
  TestViews t(6);
  Slow(t);
  t.Study(1, kOneToFour);
  t.Study(2, kOneToFour);
  t.Waiting(1, 1, 5);
  t.Waiting(2, 2, 5);
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(3000, 3000));
}

TEST(FairShareTest, ATrialThatRunsWiderAlreadyIsNotMadeNarrower) {
  TestViews t(6);
  Slow(t);
  t.Study(1, kOneToFour);
  t.Study(2, kOneToFour);
  t.Running(1, 1, 5, 2000);
  for (std::uint32_t i = 2; i <= 20; ++i) t.Waiting(2, i, 5);
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(2000, 4000));
}

TEST(FairShareTest, AStudyWithAWeightHasItsPart) {
  TestViews t(6);
  Slow(t);
  t.Study(1, kOneToFour).weight = 2;
  t.Study(2, kOneToFour);
  t.Waiting(1, 1, 5);
  for (std::uint32_t i = 2; i <= 20; ++i) t.Waiting(2, i, 5);
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(4000, 2000));
}

TEST(FairShareTest, AStudyThatIsOverOnceATrialIsGoodEnoughHasItsPart) {
  TestViews t(6);
  Slow(t);
  t.Study(1, kOneToFour).ends_when_good_enough = true;
  t.Study(2, kOneToFour);
  t.Waiting(1, 1, 5);
  for (std::uint32_t i = 2; i <= 20; ++i) t.Waiting(2, i, 5);
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(3000, 3000));
}

TEST(FairShareTest, TrialsThatPausedAndHardlyGoOnHaveNoPart) {
  TestViews t(6);
  Slow(t);
  StudyView& promotes = t.Study(1, kOneToFour);
  promotes.eta = 3;
  promotes.paused = 30;
  t.Running(1, 1, 5, 1000);
  t.Study(2, kOneToFour);
  for (std::uint32_t i = 2; i <= 20; ++i) t.Waiting(2, i, 5);
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(1000, 5000));
  t.view.studies[0].all_go_on = true;
  EXPECT_THAT(ThriftySharesOf(t.cluster, t.view), ElementsAre(3000, 3000));
}

TEST(FairShareTest, NothingToDealAndNoClaims) {
  EXPECT_THAT(FairShares(0, {{.most = 1000}}), ElementsAre(0));
  EXPECT_TRUE(FairShares(1000, {}).empty());
}

TEST(FairShareTest, StudiesOnCoresAndOnDevicesDoNotCompete) {
  TestViews t(4, /*cpus=*/8000);
  t.Study(1, {.cpus = 1000, .gpus = 1000});
  t.Study(2, {.cpus = 1000, .gpus = 0});
  for (std::uint32_t i = 1; i <= 20; ++i) t.Waiting(1, i, 5), t.Waiting(2, i, 5);
  EXPECT_THAT(SharesOf(t.cluster, t.view), ElementsAre(4000, 8000));
}

}  // namespace
}  // namespace sluice
