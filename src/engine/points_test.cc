#include "engine/points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_engine.h"

namespace sluice {
namespace {

TEST(PointsTest, DrawsFollowFromTheSeedAndTheNumberOfPointsBefore) {
  const Space space = SpecOf("trials: 1").space;
  const std::vector<PointPart> parts(3, PointPart(1));
  const auto all = *FillInAll(space, parts, 7, 0);
  EXPECT_EQ(*FillInAll(space, parts, 7, 0), all);
  EXPECT_NE(*FillInAll(space, parts, 8, 0), all);
  EXPECT_NE(all[0], all[1]);
  // Points that are completed one by one are the same as points that are completed together.
  EXPECT_EQ((*FillInAll(space, {PointPart(1)}, 7, 2))[0], all[2]);
}

TEST(PointsTest, TheFirstBadPointIsNamedAndNoneIsTaken) {
  TestEngine test("trials: 3");
  const auto bad = MakePoints(test.Study(), {R"({"lr": 0.5})", R"({"lr": 5})"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "point 2: lr: expected a number in [0, 1], found 5");
  const auto only = MakePoints(test.Study(), {R"({"l": 5})"});
  EXPECT_EQ(only.error().message,
            "l: no parameter of the study has this name (did you mean 'lr'?)");
}

TEST(PointsTest, KnownPointsAreCounted) {
  TestEngine test("trials: 9\nparallelism: 1");
  test.Propose(0, 0.5);
  test.Enqueue({{0.25}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(CountKnown(test.Study(), {kStudy, {{0.5}, {0.25}, {0.125}, {0.125}, {nan}}}), 3);
  EXPECT_EQ(CountKnown(test.Study(), {kStudy, {}}), 0);
}

TEST(PointsTest, TheQueueSaysWhatItTakesToTryAllOfIt) {
  TestEngine test("trials: 2\nparallelism: 1");
  test.Propose(0, 0.5);
  test.Enqueue({{0.25}, {0.75}, {0.125}});
  const QueueStanding standing = QueueOf(test.Study());
  EXPECT_EQ(standing.waiting, 3);
  EXPECT_EQ(standing.room, 1);
  EXPECT_EQ(standing.total, 4);
}

TEST(PointsTest, TheQueueIsBounded) {
  TestEngine test("trials: 2");
  const std::vector<std::string> many(kMostEnqueued + 1, "{}");
  const auto refused = MakePoints(test.Study(), many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice
