#include "search/samplers/parzen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace sluice {
namespace {

Space Mixed() {
  return Space::Make({{.name = "lr", .low = 1e-4, .high = 1, .law = Law::kLog},
                      {.name = "depth", .kind = ParameterKind::kInt, .low = 1, .high = 6},
                      {.name = "width",
                       .kind = ParameterKind::kInt,
                       .low = 1,
                       .high = 40,
                       .law = Law::kLog},
                      {.name = "momentum", .low = 0, .high = 1},
                      {.name = "activation",
                       .kind = ParameterKind::kCategorical,
                       .choices = {std::string("relu"), std::string("tanh"), std::string("gelu")}}})
      .value();
}

std::vector<Axis> AxesOf(const Space& space) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < space.size(); ++i) axes.push_back(AxisOf(space, i));
  return axes;
}

std::vector<double> AnyRows(const Space& space, std::size_t count, Random& random) {
  std::vector<double> rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> unit(space.size());
    for (double& coordinate : unit) coordinate = random.Uniform();
    unit = space.ToUnit(space.FromUnit(unit));
    rows.insert(rows.end(), unit.begin(), unit.end());
  }
  return rows;
}

double NormalDensityInside(double x, double centre, double width) {
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); };
  const double inside = below((1 - centre) / width) - below(-centre / width);
  const double z = (x - centre) / width;
  return std::exp(-0.5 * z * z) / (width * std::sqrt(2 * std::numbers::pi) * inside);
}

// The density of one kernel on one axis, computed in the plain, slow way. `kernel` without a value
// is the prior.
double KernelDensity(const Axis& axis, double x, std::optional<double> kernel, double width,
                     std::size_t kernels) {
  if (axis.kind == Axis::Kind::kContinuous) {
    return kernel ? NormalDensityInside(x, *kernel, width) : NormalDensityInside(x, 0.5, 1);
  }
  const auto mass = [&](std::size_t cell) {
    if (!kernel) return axis.widths[cell];
    if (axis.kind == Axis::Kind::kUnordered)
      return 1.0 / static_cast<double>(kernels) + (cell == axis.CellOf(*kernel) ? 1 : 0);
    const double z = (axis.centres[cell] - *kernel) / width;
    return axis.widths[cell] * std::exp(-0.5 * z * z);
  };
  double total = 0;
  for (std::size_t cell = 0; cell < axis.centres.size(); ++cell) total += mass(cell);
  return mass(axis.CellOf(x)) / total;
}

double SlowDensity(const std::vector<Axis>& axes, const Parzen::Kernels& kernels,
                   std::span<const double> x) {
  const std::size_t count = kernels.weights.size();
  double total = 1;
  for (const double weight : kernels.weights) total += weight;
  double density = 0;
  for (std::size_t k = 0; k <= count; ++k) {
    double product = (k < count ? kernels.weights[k] : 1) / total;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const auto own =
          k < count ? std::optional(kernels.rows[k * axes.size() + axis]) : std::nullopt;
      const double width =
          axes[axis].kind == Axis::Kind::kContinuous ? kernels.width : kernels.cell_width;
      product *= KernelDensity(axes[axis], x[axis], own, width, count + 1);
    }
    density += product;
  }
  return density;
}

TEST(Parzen, IsTheMixtureWrittenOutSlowly) {
  const Space space = Mixed();
  const std::vector<Axis> axes = AxesOf(space);
  Random random(1);
  for (const std::size_t count : {0u, 1u, 2u, 15u, 16u, 100u}) {
    const std::vector<double> rows = AnyRows(space, count, random);
    std::vector<double> weights(count);
    for (double& weight : weights) weight = random.Uniform(0.1, 2);
    const Parzen::Kernels kernels{
        .rows = rows, .weights = weights, .width = 0.15, .cell_width = 0.1};
    const Parzen parzen(axes, kernels);
    const std::vector<double> at = AnyRows(space, 20, random);
    std::vector<float> logs(20);
    parzen.LogDensity(at, logs);
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const double slow =
          std::log(SlowDensity(axes, kernels, std::span(at).subspan(i * axes.size(), axes.size())));
      EXPECT_NEAR(logs[i], slow, 2e-3) << count << " " << i;
    }
  }
}

TEST(Parzen, AKernelIsAsWideAsTheGapToItsFartherNeighbour) {
  const std::vector<Axis> axes(1);
  const std::vector<double> rows = {0.5, 0.1, 0.2};
  const std::vector<double> weights(3, 1e6);  // the prior does not count
  const Parzen parzen(axes, {.rows = rows, .weights = weights, .gaps = true, .narrowest = 0.01});
  const auto slow = [](double x) {
    return (NormalDensityInside(x, 0.5, 0.3) + NormalDensityInside(x, 0.1, 0.1) +
            NormalDensityInside(x, 0.2, 0.3)) /
           3;
  };
  const std::vector<double> at = {0.0, 0.15, 0.5, 0.99};
  std::vector<float> logs(4);
  parzen.LogDensity(at, logs);
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(logs[i], std::log(slow(at[i])), 1e-3);
}

TEST(Parzen, ALoneKernelReachesTheFartherEndAndTwinsStayWide) {
  const std::vector<Axis> axes(1);
  const std::vector<double> weights = {1e6};
  const std::vector<double> lone = {0.2};
  std::vector<float> log(1);
  Parzen(axes, {.rows = lone, .weights = weights, .gaps = true}).LogDensity(lone, log);
  EXPECT_NEAR(log[0], std::log(NormalDensityInside(0.2, 0.2, 0.8)), 1e-3);

  const std::vector<double> twins = {0.2, 0.2};
  const std::vector<double> two(2, 1e6);
  Parzen(axes, {.rows = twins, .weights = two, .gaps = true, .narrowest = 0.05})
      .LogDensity(lone, log);
  EXPECT_NEAR(log[0], std::log(NormalDensityInside(0.2, 0.2, 0.05)), 1e-3);
}

// Compares the share of draws in each tenth of a continuum, or in each cell, with the sum of the
// density there.
TEST(Parzen, DrawsFollowTheDensity) {
  const Space space = Mixed();
  const std::vector<Axis> axes = AxesOf(space);
  Random random(2);
  const std::vector<double> rows = AnyRows(space, 5, random);
  const std::vector<double> weights = {1, 2, 3, 4, 5};
  const Parzen::Kernels kernels{.rows = rows, .weights = weights, .width = 0.2, .cell_width = 0.2};
  const Parzen parzen(axes, kernels);
  constexpr int kDraws = 40'000;
  std::vector<std::vector<double>> drawn(axes.size());
  std::vector<double> row(axes.size());
  for (int i = 0; i < kDraws; ++i) {
    parzen.Sample(random, row);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) drawn[axis].push_back(row[axis]);
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::vector<Axis> alone = {axes[axis]};
    std::vector<double> column;
    for (std::size_t k = 0; k < weights.size(); ++k) column.push_back(rows[k * axes.size() + axis]);
    const Parzen::Kernels one{.rows = column, .weights = weights, .width = 0.2, .cell_width = 0.2};
    const bool cells = axes[axis].kind != Axis::Kind::kContinuous;
    const std::size_t bins = cells ? axes[axis].centres.size() : 10;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      double expected = 0;
      if (cells) {
        expected = SlowDensity(alone, one, std::span(&axes[axis].centres[bin], 1));
      } else {
        for (int i = 0; i < 100; ++i) {
          const double x = (static_cast<double>(bin) + (i + 0.5) / 100) / 10;
          expected += SlowDensity(alone, one, std::span(&x, 1)) / 1000;
        }
      }
      const auto in_bin = [&](double x) {
        return (cells ? axes[axis].CellOf(x) : static_cast<std::size_t>(x * 10)) == bin;
      };
      const auto count = static_cast<double>(std::ranges::count_if(drawn[axis], in_bin));
      EXPECT_NEAR(count / kDraws, expected, 0.012) << axis << " " << bin;
    }
  }
}

TEST(Axis, CellsAreThoseOfTheSpace) {
  const Space space = Mixed();
  const Axis depth = AxisOf(space, 1);
  EXPECT_EQ(depth.kind, Axis::Kind::kOrdered);
  EXPECT_THAT(depth.widths, ::testing::Each(::testing::DoubleNear(1.0 / 6, 1e-6)));
  const Axis width = AxisOf(space, 2);
  ASSERT_EQ(width.centres.size(), 40u);
  EXPECT_GT(width.widths[0], 10 * width.widths[39]);
  double sum = 0;
  for (std::size_t cell = 0; cell < 40; ++cell) {
    sum += width.widths[cell];
    EXPECT_EQ(space.FromUnit(2, width.centres[cell]), static_cast<double>(cell + 1));
    EXPECT_EQ(width.CellOf(width.centres[cell]), cell);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(AxisOf(space, 0).kind, Axis::Kind::kContinuous);
  EXPECT_EQ(AxisOf(space, 4).kind, Axis::Kind::kUnordered);
}

TEST(Axis, ManyNumbersAreAContinuumAndManyChoicesAreNot) {
  std::vector<Choice> choices;
  for (std::int64_t i = 0; i < 100; ++i) choices.emplace_back(i);
  const Space space =
      Space::Make({{.name = "n", .kind = ParameterKind::kInt, .low = 0, .high = 1000},
                   {.name = "c", .kind = ParameterKind::kCategorical, .choices = choices}})
          .value();
  EXPECT_EQ(AxisOf(space, 0).kind, Axis::Kind::kContinuous);
  EXPECT_EQ(AxisOf(space, 1).centres.size(), 100u);
}

}  // namespace
}  // namespace sluice
