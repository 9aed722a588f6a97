#include "policy/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

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
}

TEST(FairShareTest, NothingAndNobody) {
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
