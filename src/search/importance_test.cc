#include "search/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "base/test_numbers.h"

namespace sluice {
namespace {

using ::testing::DoubleNear;

Space Units(int count) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < count; ++i)
    parameters.push_back({.name = "x" + std::to_string(i), .low = 0, .high = 1});
  return *Space::Make(parameters);
}

struct Trials {
  std::vector<Point> points;
  std::vector<double> losses;
};

Trials DrawTrials(const Space& space, int count, const std::function<double(const Point&)>& loss,
                  std::uint64_t seed = 1) {
  Random random(seed);
  Trials trials;
  for (int i = 0; i < count; ++i) {
    std::vector<double> unit(space.size());
    for (double& coordinate : unit) coordinate = random.Uniform();
    trials.points.push_back(space.FromUnit(unit));
    trials.losses.push_back(loss(trials.points.back()));
  }
  return trials;
}

std::vector<double> Shares(const Importance& importance) {
  std::vector<double> shares;
  for (const ParameterImportance& of : importance.parameters) shares.push_back(of.share);
  return shares;
}

Importance Compute(const Space& space, const Trials& trials) {
  return ComputeImportance(space, trials.points, trials.losses);
}

double Sum(const Importance& importance) {
  double sum = 0;
  for (const ParameterImportance& of : importance.parameters) sum += of.share;
  return sum;
}

TEST(ImportanceTest, SharesOfAnAdditiveFunctionAreThoseOfItsVariance) {
  const Space space = Units(6);
  const Trials trials =
      DrawTrials(space, 1000, [](const Point& x) { return 4 * x[3] + 3 * x[0] + 2 * x[5]; });
  const Importance importance = Compute(space, trials);
  EXPECT_EQ(importance.reason, "");
  EXPECT_NEAR(Sum(importance), 1, 1e-12);
  EXPECT_THAT(Shares(importance),
              testing::ElementsAre(DoubleNear(9 / 29., 0.06), DoubleNear(0, 0.01),
                                   DoubleNear(0, 0.01), DoubleNear(16 / 29., 0.06),
                                   DoubleNear(0, 0.01), DoubleNear(4 / 29., 0.06)));
}

TEST(ImportanceTest, ThirtyTrialsTellTheFirst) {
  const Space space = Units(8);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Trials trials = DrawTrials(
        space, 30, [](const Point& x) { return 5 * (x[2] - 0.3) * (x[2] - 0.3) + 0.3 * x[4]; },
        seed);
    const Importance importance = Compute(space, trials);
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_TRUE(i == 2 || importance.parameters[i].share < importance.parameters[2].share / 2);
  }
}

TEST(ImportanceTest, SaysTheDirectionAndTheBestRange) {
  const Space space = Units(4);
  const Trials trials = DrawTrials(space, 400, [](const Point& x) {
    return 3 * x[0] - 3 * x[1] + 8 * (x[2] - 0.5) * (x[2] - 0.5);
  });
  const auto& of = Compute(space, trials).parameters;
  EXPECT_EQ(of[0].trend, Trend::kLowerIsBetter);
  EXPECT_EQ(of[1].trend, Trend::kHigherIsBetter);
  EXPECT_EQ(of[2].trend, Trend::kNone);
  EXPECT_LT(of[0].best_high, 0.5);
  EXPECT_GT(of[1].best_low, 0.5);
  EXPECT_LT(of[2].best_low, 0.5);
  EXPECT_GT(of[2].best_high, 0.5);
  EXPECT_LT(of[2].best_high - of[2].best_low, 0.5);
}

TEST(ImportanceTest, TrialsGatheredAtTheBestDoNotMislead) {
  // Half of the trials lie where x0 is good. In these, x1 is small too, although it has no effect.
  const Space space = Units(3);
  Random random(3);
  Trials trials;
  for (int i = 0; i < 300; ++i) {
    Point x = {random.Uniform(), random.Uniform(), random.Uniform()};
    if (i >= 150) x[0] *= 0.1, x[1] *= 0.1;
    trials.losses.push_back(5 * x[0] + x[2]);
    trials.points.push_back(x);
  }
  const Importance importance = Compute(space, trials);
  EXPECT_GT(importance.parameters[0].share, 0.85);
  EXPECT_LT(importance.parameters[1].share, 0.02);
}

TEST(ImportanceTest, ScalesAndKindsOfParametersDoNotMatter) {
  const Space space = *Space::Make(
      {{.name = "lr", .low = 1e-6, .high = 1, .law = Law::kLog},
       {.name = "width", .kind = ParameterKind::kInt, .low = 1, .high = 4},
       {.name = "act", .kind = ParameterKind::kCategorical, .choices = {"a", "b", "c"}},
       {.name = "size", .kind = ParameterKind::kOrdinal, .choices = {"s", "m", "l"}}});
  const Trials trials = DrawTrials(space, 500, [](const Point& x) {
    // Variances 3, 1.25, 0.89, 0.
    return std::log10(x[0]) + x[1] + 2 * (x[2] == 1 ? 0 : 1);
  });
  const Importance importance = Compute(space, trials);
  EXPECT_THAT(Shares(importance),
              testing::ElementsAre(DoubleNear(3 / 5.14, 0.08), DoubleNear(1.25 / 5.14, 0.08),
                                   DoubleNear(0.89 / 5.14, 0.08), DoubleNear(0, 0.01)));
  EXPECT_EQ(importance.parameters[2].best_low, 1);  // "b"
  EXPECT_EQ(importance.parameters[2].best_high, 1);
  EXPECT_EQ(importance.parameters[2].trend, Trend::kNone);
  EXPECT_EQ(importance.parameters[1].trend, Trend::kLowerIsBetter);
}

TEST(ImportanceTest, ChoicesAlone) {
  std::vector<Choice> many;
  for (std::int64_t i = 0; i < 60; ++i) many.emplace_back(i);
  const Space space =
      *Space::Make({{.name = "a", .kind = ParameterKind::kCategorical, .choices = {true, false}},
                    {.name = "b", .kind = ParameterKind::kCategorical, .choices = {"x", "y", "z"}},
                    {.name = "one", .kind = ParameterKind::kCategorical, .choices = {"only"}},
                    {.name = "many", .kind = ParameterKind::kCategorical, .choices = many}});
  const Trials trials = DrawTrials(space, 200, [](const Point& x) { return x[1] == 2 ? 1 : 0; });
  const Importance importance = Compute(space, trials);
  EXPECT_GT(importance.parameters[1].share, 0.97);
  EXPECT_EQ(importance.parameters[2].share, 0);
}

TEST(ImportanceTest, InactiveTrialsAreSetApart) {
  const Space space = *Space::Make(
      {{.name = "optimizer", .kind = ParameterKind::kCategorical, .choices = {"sgd", "adam"}},
       {.name = "momentum", .low = 0, .high = 1},
       {.name = "beta", .low = 0, .high = 1}});
  Trials trials =
      DrawTrials(space, 400, [](const Point& x) { return x[0] == 0 ? 3 + 2 * x[1] : 0; });
  for (Point& point : trials.points) point[point[0] == 0 ? 2 : 1] = kNan;
  const Importance importance = Compute(space, trials);
  EXPECT_EQ(importance.reason, "");
  EXPECT_GT(importance.parameters[0].share, 0.8);  // which optimizer, not whether it has a momentum
  EXPECT_GT(importance.parameters[1].share, 0.01);
  EXPECT_LT(importance.parameters[2].share, 0.005);
  EXPECT_TRUE(std::isnan(importance.parameters[1].best_low));  // adam is best
  EXPECT_EQ(importance.parameters[1].trend, Trend::kLowerIsBetter);

  for (Point& point : trials.points) point[2] = kNan;  // in all of them
  EXPECT_EQ(Compute(space, trials).parameters[2].share, 0);
}

TEST(ImportanceTest, FailuresAndOutliersDoNotDrownTheRest) {
  const Space space = Units(4);
  const Trials trials = DrawTrials(space, 300, [](const Point& x) {
    if (x[0] > 0.98) return kNan;
    if (x[0] > 0.97) return kInfinity;
    if (x[0] > 0.95) return 1e300;
    return 4 * x[1] + x[2];
  });
  const Importance importance = Compute(space, trials);
  EXPECT_GT(importance.parameters[1].share, 0.4);
  EXPECT_GT(importance.parameters[0].share, 0.05);
  EXPECT_GT(importance.parameters[1].share, importance.parameters[2].share);
  EXPECT_LT(importance.parameters[3].share, 0.02);
}

TEST(ImportanceTest, WhatMakesTrialsFailMatters) {
  const Space space = Units(3);
  const Trials trials =
      DrawTrials(space, 100, [](const Point& x) { return x[1] < 0.4 ? kNan : 1.0; });
  EXPECT_GT(Compute(space, trials).parameters[1].share, 0.95);
}

TEST(ImportanceTest, ExtremeLossesStayNumbers) {
  const Space space = Units(2);
  for (const double scale : {1e-320, 1e-300, 1.0, 1e300, 1.79e308}) {
    const Trials trials =
        DrawTrials(space, 50, [&](const Point& x) { return scale * (2 * x[0] - 1); });
    EXPECT_NEAR(Sum(Compute(space, trials)), 1, 1e-12) << scale;
  }
  const Trials ends = DrawTrials(space, 50, [](const Point& x) {
    return x[0] < 0.3 ? -kInfinity : x[0] < 0.6 ? 0 : kInfinity;
  });
  EXPECT_GT(Compute(space, ends).parameters[0].share, 0.95);
}

TEST(ImportanceTest, TiesAreNoTrouble) {
  const Space space = Units(3);
  // Three quarters of the trials have one value.
  const Trials trials =
      DrawTrials(space, 200, [](const Point& x) { return std::max(0.0, x[0] - 0.75); });
  EXPECT_GT(Compute(space, trials).parameters[0].share, 0.9);

  Trials same = trials;  // one point again and again, whatever the losses
  for (Point& point : same.points) point = {0.5, 0.5, 0.5};
  EXPECT_EQ(Sum(Compute(space, same)), 0);
}

TEST(ImportanceTest, SaysWhyItCannotSay) {
  const Space space = Units(2);
  const auto reason = [&](int count, const std::function<double(const Point&)>& loss) {
    const Importance importance = Compute(space, DrawTrials(space, count, loss));
    EXPECT_EQ(Sum(importance), 0);
    EXPECT_EQ(importance.parameters.size(), 2u);
    return importance.reason;
  };
  const auto first = [](const Point& x) { return x[0]; };
  EXPECT_EQ(reason(0, first), "it takes 10 finished trials, there are 0");
  EXPECT_EQ(reason(1, first), "it takes 10 finished trials, there are 1");
  EXPECT_EQ(reason(9, first), "it takes 10 finished trials, there are 9");
  EXPECT_EQ(reason(20, [](const Point&) { return kNan; }), "no trial has a finite value");
  EXPECT_EQ(reason(20, [](const Point&) { return kInfinity; }), "no trial has a finite value");
  EXPECT_EQ(reason(20, [](const Point&) { return 2.5; }), "all trials have the same value");
  EXPECT_EQ(Compute(Space(), {std::vector<Point>(20), std::vector<double>(20)}).reason,
            "there are no parameters");
}

TEST(ImportanceTest, ChanceIsNotImportance) {
  const Space space = Units(6);
  int silent = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random noise(seed + 100);
    const Importance importance =
        Compute(space, DrawTrials(space, 60, [&](const Point&) { return noise.Normal(); }, seed));
    if (importance.reason == "no parameter stands out from chance") ++silent;
  }
  EXPECT_GE(silent, 17);
}

TEST(ImportanceTest, SameTrialsSameAnswer) {
  const Space space = Units(5);
  const Trials trials = DrawTrials(space, 700, [](const Point& x) { return x[0] * x[1] + x[2]; });
  EXPECT_EQ(Shares(Compute(space, trials)), Shares(Compute(space, trials)));
}

}  // namespace
}  // namespace sluice
