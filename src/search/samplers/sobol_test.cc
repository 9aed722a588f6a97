#include "search/samplers/sobol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace sluice {
namespace {

TEST(Sobol, EachAlignedRunHasOnePointInEachIntervalOfEachAxis) {
  constexpr std::size_t kAxes = 100;
  const SobolSequence sequence(kAxes, 5);
  for (const std::uint64_t run : {16u, 64u, 256u}) {
    for (const std::uint64_t start : {std::uint64_t{0}, run, 7 * run}) {
      std::vector<std::set<std::uint64_t>> filled(kAxes);
      for (std::uint64_t i = start; i < start + run; ++i) {
        const std::vector<double> point = sequence.At(i);
        for (std::size_t axis = 0; axis < kAxes; ++axis)
          filled[axis].insert(static_cast<std::uint64_t>(point[axis] * static_cast<double>(run)));
      }
      for (std::size_t axis = 0; axis < kAxes; ++axis)
        EXPECT_EQ(filled[axis].size(), run) << axis << " from " << start;
    }
  }
}

// The largest difference between the share of points in a box at the corner and the area of the
// box, over many boxes.
double Discrepancy(const std::vector<std::vector<double>>& points, std::size_t a, std::size_t b) {
  double worst = 0;
  for (int x = 1; x <= 16; ++x) {
    for (int y = 1; y <= 16; ++y) {
      const auto inside = std::ranges::count_if(points, [&](const std::vector<double>& point) {
        return point[a] < x / 16.0 && point[b] < y / 16.0;
      });
      worst = std::max(worst,
                       std::abs(static_cast<double>(inside) / static_cast<double>(points.size()) -
                                x * y / 256.0));
    }
  }
  return worst;
}

TEST(Sobol, FillsThePlaneOfEachPairOfAxesMoreEvenlyThanChance) {
  constexpr std::size_t kAxes = 20;
  constexpr std::size_t kPoints = 256;
  double sobol = 0;
  double chance = 0;
  double worst = 0;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const SobolSequence sequence(kAxes, seed);
    Random random(seed);
    std::vector<std::vector<double>> ours;
    std::vector<std::vector<double>> drawn;
    for (std::size_t i = 0; i < kPoints; ++i) {
      ours.push_back(sequence.At(i));
      drawn.emplace_back();
      for (std::size_t axis = 0; axis < kAxes; ++axis) drawn.back().push_back(random.Uniform());
    }
    for (std::size_t a = 0; a < kAxes; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double here = Discrepancy(ours, a, b);
        sobol += here;
        worst = std::max(worst, here);
        chance += Discrepancy(drawn, a, b);
      }
    }
  }
  EXPECT_LT(sobol, chance / 5);
  EXPECT_LT(worst, 0.09);
}

TEST(Sobol, ASeedIsASequence) {
  EXPECT_EQ(SobolSequence(3, 1).At(5), SobolSequence(3, 1).At(5));
  EXPECT_NE(SobolSequence(3, 1).At(5), SobolSequence(3, 2).At(5));
  // The first point is not a corner, which an unscrambled sequence begins with.
  EXPECT_THAT(SobolSequence(6, 1).At(0), ::testing::Contains(::testing::Gt(0.2)));
}

TEST(Sobol, AThousandAxesDiffer) {
  const std::vector<double> point = SobolSequence(1000, 1).At(123'456);
  EXPECT_EQ(std::set<double>(point.begin(), point.end()).size(), 1000u);
  EXPECT_THAT(point, ::testing::Each(::testing::AllOf(::testing::Gt(0.0), ::testing::Lt(1.0))));
}

TEST(Sobol, LeavesOutWhatConstraintsRefuseAndKeepsTheOrder) {
  const std::vector<Parameter> parameters = {{.name = "a", .low = 0, .high = 1},
                                             {.name = "b", .low = 0, .high = 1}};
  SobolSampler all(Space::Make(parameters).value(), 3);
  const Space half = Space::Make(parameters, {"a < b"}).value();
  SobolSampler some(half, 3);
  std::vector<Point> expected;
  for (std::uint64_t i = 0; expected.size() < 20; ++i) {
    const Point point = all.Propose(i).value();
    if (half.Satisfies(point)) expected.push_back(point);
  }
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(some.Propose(i), expected[i]);
  EXPECT_EQ(some.Propose(4), expected[4]);  // again
}

TEST(Sobol, DrawsWhereHardlyAnyPointSatisfies) {
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b", "c"})
    parameters.push_back({.name = name, .kind = ParameterKind::kInt, .low = 1, .high = 1000});
  const Space space = Space::Make(parameters, {"a < 4", "b == a", "c == b"}).value();
  SobolSampler sampler(space, 3);
  std::vector<Point> points;
  for (std::uint64_t i = 0; i < 3; ++i) {
    points.push_back(sampler.Propose(i).value());
    EXPECT_TRUE(space.Contains(points.back()));
  }
  EXPECT_EQ(sampler.Propose(1), points[1]);  // again
  EXPECT_EQ(SobolSampler(space, 3).Propose(2), points[2]);
}

}  // namespace
}  // namespace sluice
