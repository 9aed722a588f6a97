#include "search/samplers/explore.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "space/draw.h"

namespace sluice {
namespace {

Space Make(std::vector<Parameter> parameters, std::vector<std::string> constraints = {}) {
  return Space::Make(std::move(parameters), std::move(constraints)).value();
}

// Explore, if every parameter may change.
Point Explore(const Space& space, std::uint64_t seed, std::uint64_t fork, const Point& parent) {
  return sluice::Explore(space, seed, fork, parent, std::vector<bool>(space.size(), true));
}

const Parameter kRate = {
    .name = "lr", .kind = ParameterKind::kFloat, .low = 1e-5, .high = 1, .law = Law::kLog};
const Parameter kWidth = {.name = "width", .kind = ParameterKind::kInt, .low = 1, .high = 100};

TEST(ExploreTest, ANumberIsMultipliedOrDrawnAnew) {
  const Space space = Make({kRate});
  std::map<double, int> seen;
  for (std::uint64_t fork = 0; fork < 4000; ++fork) ++seen[Explore(space, 7, fork, {0.01}).front()];
  EXPECT_NEAR(seen[0.01 * 0.8], 1500, 150);
  EXPECT_NEAR(seen[0.01 * 1.2], 1500, 150);
  EXPECT_NEAR(static_cast<int>(seen.size()), 1002, 150) << "a quarter is drawn from everywhere";
}

TEST(ExploreTest, ItDependsOnSeedForkAndParentAlone) {
  const Space space = Make({kRate, kWidth});
  const Point parent = {0.01, 50};
  EXPECT_EQ(Explore(space, 1, 2, parent), Explore(space, 1, 2, parent));
  std::set<Point> different;
  for (std::uint64_t i = 0; i < 20; ++i) {
    different.insert(Explore(space, 1, i, parent));
    different.insert(Explore(space, 100 + i, 1, parent));
  }
  EXPECT_GT(different.size(), 5U);
}

TEST(ExploreTest, NumbersStayInTheirRangeAndOnTheirStep) {
  const Parameter drop = {
      .name = "drop", .kind = ParameterKind::kFloat, .low = 0, .high = 0.5, .step = 0.1};
  const Space space = Make({kRate, kWidth, drop});
  Point point = {1, 1, 0.3};
  Random random(3);
  std::set<double> widths;
  for (std::uint64_t fork = 0; fork < 5000; ++fork) {
    point = Explore(space, 5, fork, point);
    ASSERT_TRUE(space.Contains(point)) << fork;
    widths.insert(point[1]);
  }
  EXPECT_GT(widths.size(), 80U);
}

TEST(ExploreTest, OnlyWhatMayChangeDoes) {
  const Parameter drop = {.name = "drop", .kind = ParameterKind::kFloat, .low = 0, .high = 0.5};
  const Space space = Make({kRate, kWidth, drop});
  EXPECT_EQ(MayChange(space, {}), std::vector<bool>({true, false, true})) << "floats";
  const std::vector<bool> named = MayChange(space, {"width", "drop"});
  EXPECT_EQ(named, std::vector<bool>({false, true, true}));
  const Point parent = {0.01, 50, 0.25};
  for (std::uint64_t fork = 0; fork < 200; ++fork) {
    const Point point = sluice::Explore(space, 1, fork, parent, named);
    EXPECT_EQ(point[0], 0.01);
    EXPECT_NE(point[2], 0.25);
  }
}

TEST(ExploreTest, ASmallIntegerMovesByAStepAtLeast) {
  const Space space = Make({kWidth});
  std::map<double, int> seen;
  for (std::uint64_t fork = 0; fork < 1000; ++fork) ++seen[Explore(space, 1, fork, {2}).front()];
  EXPECT_GT(seen[1], 300);
  EXPECT_GT(seen[3], 300);
  EXPECT_LT(seen[2], 20) << "only where it was drawn anew";
}

TEST(ExploreTest, OnALogScaleTurnedRoundTheDistanceIsMultiplied) {
  const Space space = Make({{.name = "momentum",
                             .kind = ParameterKind::kFloat,
                             .low = 0.001,
                             .high = 0.999,
                             .law = Law::kInverseLog}});
  std::map<double, int> seen;
  for (std::uint64_t fork = 0; fork < 1000; ++fork) {
    const double value = Explore(space, 1, fork, {0.9}).front();
    seen[std::round(value * 1e6) / 1e6] += 1;
  }
  EXPECT_GT(seen[0.92], 300);
  EXPECT_GT(seen[0.88], 300);
}

TEST(ExploreTest, OrdinalsMoveToNeighboursAndCategoricalsStayOrAreDrawn) {
  const std::vector<Choice> choices = {std::int64_t{8}, std::int64_t{16}, std::int64_t{32},
                                       std::int64_t{64}, std::int64_t{128}};
  const Space space =
      Make({{.name = "batch", .kind = ParameterKind::kOrdinal, .choices = choices},
            {.name = "opt", .kind = ParameterKind::kCategorical, .choices = choices}});
  std::map<double, int> batch;
  std::map<double, int> opt;
  for (std::uint64_t fork = 0; fork < 2000; ++fork) {
    const Point point = Explore(space, 1, fork, {2, 2});
    ++batch[point[0]];
    ++opt[point[1]];
  }
  EXPECT_NEAR(batch[1], 850, 100);
  EXPECT_NEAR(batch[3], 850, 100);
  EXPECT_NEAR(batch[2], 100, 60);
  EXPECT_NEAR(opt[2], 1600, 100);
  EXPECT_NEAR(opt[0], 100, 60);
}

TEST(ExploreTest, ConditionsAndConstraintsHold) {
  const Space space = Make({{.name = "opt",
                             .kind = ParameterKind::kCategorical,
                             .choices = {std::string("sgd"), std::string("adam")}},
                            {.name = "momentum",
                             .kind = ParameterKind::kFloat,
                             .low = 0,
                             .high = 1,
                             .when = "opt == 'sgd'"},
                            kWidth,
                            {.name = "depth", .kind = ParameterKind::kInt, .low = 1, .high = 20}},
                           {"width * depth <= 100"});
  Point point = {0, 0.5, 10, 10};
  int changed = 0;
  for (std::uint64_t fork = 0; fork < 3000; ++fork) {
    const Point next = Explore(space, 9, fork, point);
    ASSERT_TRUE(space.Contains(next)) << fork;
    changed += next[0] != point[0] ? 1 : 0;
    point = next;
  }
  EXPECT_GT(changed, 100) << "parameters come and go with their condition";
}

TEST(ExploreTest, WhereNothingElseIsAllowedTheParentIsTheAnswer) {
  const Space space =
      Make({kWidth, {.name = "b", .kind = ParameterKind::kInt, .low = 1, .high = 100}},
           {"width == 37", "b == 53"});
  EXPECT_EQ(Explore(space, 1, 1, {37, 53}), (Point{37, 53}));
}

}  // namespace
}  // namespace sluice
