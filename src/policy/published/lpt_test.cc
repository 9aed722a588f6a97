#include "policy/published/lpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

TEST(LptTest, TheLongestByMeasuredTimeComesFirst) {
  TestViews t(2);
  t.Study(1, {.cpus = 1000, .gpus = 1000});
  t.Study(2, {.cpus = 1000, .gpus = 1000});
  t.Waiting(1, 1, 10);
  t.Waiting(1, 2, 12);
  t.Waiting(2, 3, 5);
  EXPECT_THAT(TestViews::Placed(Lpt().Propose(t.cluster, t.view, {})), ElementsAre("2:1", "1:1"));
  t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 1);
  t.speeds.Learn({.shape = "study2", .kind = "A100"}, 1, 3);
  EXPECT_THAT(TestViews::Placed(Lpt().Propose(t.cluster, t.view, {})), ElementsAre("3:1", "2:1"));
}

TEST(LptTest, EqualTrialsStartInTheOrderTheyCameAndNoneIsMoved) {
  TestViews t(3);
  t.Study(1, {.cpus = 1000, .gpus = 1000}).open = true;
  t.Running(1, 9, 1, 1000);
  t.Waiting(1, 2, 7);
  t.Waiting(1, 1, 7);
  const Plan plan = Lpt().Propose(t.cluster, t.view, {});
  EXPECT_TRUE(plan.keeps_running);
  EXPECT_THAT(TestViews::Placed(plan), ElementsAre("2:1", "1:1"));
}

}  // namespace
}  // namespace sluice
