#include "search/tpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace sluice {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Space Floats(int count) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < count; ++i)
    parameters.push_back({.name = "x" + std::to_string(i), .low = 0, .high = 1});
  return Space::Make(parameters).value();
}

double Sphere(const Point& point) {
  double sum = 0;
  for (const double x : point) sum += (x - 0.3) * (x - 0.3);
  return sum;
}

Observation Complete(std::uint32_t trial, const Point& point, double loss) {
  return {.trial = TrialId(trial),
          .point = point,
          .outcome = Outcome::kComplete,
          .work = 1,
          .value = loss};
}

double BestOf(Sampler& sampler, int trials, double (*loss)(const Point&)) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < trials; ++i) {
    const Point point = sampler.Propose(i).value();
    best = std::min(best, loss(point));
    sampler.Observe(Complete(i + 1, point, loss(point)));
  }
  return best;
}

TEST(Tpe, FindsWhatChanceDoesNot) {
  const Space space = Floats(4);
  double learned = 0;
  double chance = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    learned += BestOf(*MakeSampler({.name = "tpe"}, space, seed).value(), 100, Sphere);
    chance += BestOf(*MakeSampler({.name = "random"}, space, seed).value(), 100, Sphere);
  }
  EXPECT_LT(learned, chance / 10);
}

TEST(Tpe, LearnsFromTrialsThatWereStoppedAsFromCompleteOnes) {
  const Space space = Floats(2);
  for (const Outcome outcome : {Outcome::kStopped, Outcome::kRunning}) {
    TpeSampler sampler(space, 1);
    Random random(2);
    for (std::uint32_t i = 1; i <= 60; ++i) {
      const Point point = {random.Uniform(), random.Uniform()};
      const bool far = Sphere(point) < 0.1;  // what a stopper lets go on
      sampler.Observe({.trial = TrialId(i),
                       .point = point,
                       .outcome = outcome,
                       .work = far ? 9 : 1,
                       .value = far ? 0.9 : 0.1});  // further is better, whatever the value
    }
    double sum = 0;
    for (int i = 0; i < 20; ++i) sum += Sphere(sampler.Propose(i).value());
    EXPECT_LT(sum / 20, 0.08);
  }
}

TEST(Tpe, KeepsAwayFromWhereTrialsFail) {
  const Space space = Floats(2);
  TpeSampler sampler(space, 1);
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Point point = sampler.Propose(i).value();
    const bool fails = point[0] < 0.5;
    sampler.Observe({.trial = TrialId(i + 1),
                     .point = point,
                     .outcome = fails ? Outcome::kFailed : Outcome::kComplete,
                     .work = 1,
                     .value = fails ? kNone : point[1]});
  }
  int failing = 0;
  for (std::uint32_t i = 200; i < 240; ++i) failing += sampler.Propose(i).value()[0] < 0.5 ? 1 : 0;
  EXPECT_LT(failing, 10);
}

double LeastDistance(const std::vector<Point>& points) {
  double nearest = 1e9;
  for (std::size_t a = 0; a < points.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b)
      nearest =
          std::min(nearest, std::hypot(points[a][0] - points[b][0], points[a][1] - points[b][1]));
  }
  return nearest;
}

// Proposals that nobody has answered, and trials that run, push the next ones away.
TEST(Tpe, ParallelProposalsKeepApart) {
  double apart = 0;
  double alone = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TpeSampler knowing(Floats(2), seed);
    Random random(seed);
    std::vector<Observation> observations;
    for (std::uint32_t i = 1; i <= 40; ++i) {
      const Point point = {random.Uniform(), random.Uniform()};
      observations.push_back(Complete(i, point, Sphere(point)));
      knowing.Observe(observations.back());
    }
    std::vector<Point> together;
    std::vector<Point> apiece;
    for (std::uint64_t i = 0; i < 6; ++i) {
      together.push_back(knowing.Propose(40 + i).value());
      TpeSampler ignorant(Floats(2), seed);
      for (const Observation& observation : observations) ignorant.Observe(observation);
      apiece.push_back(ignorant.Propose(40 + i).value());
    }
    apart += LeastDistance(together);
    alone += LeastDistance(apiece);
  }
  EXPECT_GT(apart, 1.2 * alone);
}

TEST(Tpe, AProposalOnItsWayIsWhatItBecomesAsATrial) {
  TpeSampler remembers(Floats(2), 1);
  TpeSampler is_told(Floats(2), 1);
  for (std::uint32_t i = 1; i <= 20; ++i) {
    const Point point = {i / 20.0 - 0.01, 0.5};
    remembers.Observe(Complete(i, point, Sphere(point)));
    is_told.Observe(Complete(i, point, Sphere(point)));
  }
  const Point first = remembers.Propose(20).value();
  is_told.Observe({.trial = TrialId(21), .point = first, .value = kNone});
  EXPECT_EQ(remembers.Propose(21), is_told.Propose(21));
}

TEST(Tpe, WhatIsKnownCountsNotTheOrderInWhichItWasLearned) {
  const Space space = Floats(3);
  Random random(4);
  std::vector<Observation> observations;
  for (std::uint32_t i = 1; i <= 3000; ++i) {
    const Point point = {random.Uniform(), random.Uniform(), random.Uniform()};
    observations.push_back(Complete(i, point, std::floor(10 * Sphere(point))));
  }
  TpeSampler forwards(space, 9);
  TpeSampler backwards(space, 9);
  for (const Observation& observation : observations) forwards.Observe(observation);
  for (std::size_t i = observations.size(); i-- > 0;) {
    Observation running = observations[i];
    running.outcome = Outcome::kRunning;
    backwards.Observe(running);
    backwards.Observe(observations[i]);
  }
  for (std::uint64_t i = 3000; i < 3020; ++i) EXPECT_EQ(forwards.Propose(i), backwards.Propose(i));
}

// More trials than kernels: a sample of the bad ones still tells where not to go.
TEST(Tpe, ManyTrialsAreSampledAndStillLearnedFrom) {
  TpeSampler sampler(Floats(3), 1);
  Random random(5);
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    const Point point = {random.Uniform(), random.Uniform(), random.Uniform()};
    sampler.Observe(Complete(i, point, Sphere(point)));
  }
  double sum = 0;
  for (int i = 0; i < 50; ++i) sum += Sphere(sampler.Propose(i).value());
  EXPECT_LT(sum / 50, 0.02);
}

Space Small() {
  return Space::Make(
             {{.name = "n", .kind = ParameterKind::kInt, .low = 1, .high = 6},
              {.name = "c",
               .kind = ParameterKind::kCategorical,
               .choices = {std::string("a"), std::string("b"), std::string("c")}},
              {.name = "m", .kind = ParameterKind::kInt, .low = 0, .high = 3, .when = "c == 'b'"}},
             {"n > 1 or c == 'a'"})
      .value();
}

TEST(Tpe, GoesThroughADiscreteSpaceWithoutAPointTwice) {
  const Space space = Small();
  ASSERT_EQ(space.Cardinality(), 1 + 5 + 5 + 5 * 4 + 0u);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TpeSampler sampler(space, seed);
    std::set<std::string> seen;
    for (std::uint32_t i = 0; i < *space.Cardinality(); ++i) {
      const Point point = sampler.Propose(i).value();
      EXPECT_TRUE(space.Contains(point));
      EXPECT_TRUE(seen.insert(space.Encode(point)).second) << i << " " << space.Encode(point);
      // Answers come late: up to three proposals are out.
      if (i >= 3) sampler.Observe(Complete(i - 2, point, static_cast<double>(i % 7)));
    }
    EXPECT_TRUE(space.Contains(sampler.Propose(1000).value()));  // then points come again
  }
}

TEST(Tpe, FindsTheBestOfALargeDiscreteSpaceSooner) {
  const Space space =
      Space::Make({{.name = "a", .kind = ParameterKind::kInt, .low = 0, .high = 63},
                   {.name = "b", .kind = ParameterKind::kInt, .low = 0, .high = 63}})
          .value();
  const auto loss = [](const Point& point) {
    return std::abs(point[0] - 20) + std::abs(point[1] - 50);
  };
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TpeSampler sampler(space, seed);
    sum += BestOf(sampler, 150, loss);
  }
  EXPECT_LT(sum / 10, 2.0);
}

double ConditionalLoss(const Point& point) {
  if (point[0] == 0) return 0.5 + std::abs(point[1] - 0.7);  // sgd, with momentum
  return std::abs(point[2] - 0.2);                           // adam, with beta
}

TEST(Tpe, LearnsWhatIsActiveOnlyUnderACondition) {
  const Space space =
      Space::Make({{.name = "optimizer",
                    .kind = ParameterKind::kCategorical,
                    .choices = {std::string("sgd"), std::string("adam")}},
                   {.name = "momentum", .low = 0, .high = 1, .when = "optimizer == 'sgd'"},
                   {.name = "beta", .low = 0, .high = 1, .when = "optimizer == 'adam'"}})
          .value();
  double learned = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TpeSampler sampler(space, seed);
    learned += BestOf(sampler, 80, ConditionalLoss);
  }
  EXPECT_LT(learned / 10, 0.01);
}

TEST(Tpe, ObeysNarrowConstraints) {
  std::vector<Parameter> parameters = Floats(3).parameters();
  const Space space = Space::Make(parameters, {"x0 + x1 + x2 < 0.5", "x0 * x1 < 0.01"}).value();
  TpeSampler sampler(space, 1);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Point point = sampler.Propose(i).value();
    ASSERT_TRUE(space.Contains(point)) << space.Encode(point);
    sampler.Observe(Complete(i + 1, point, -point[0] - point[1]));
  }
}

// As many bad trials known from before at the left end as of its own at the right: the own ones are
// the recent ones, and count more.
TEST(Tpe, WhatWasKnownBeforeIsOlderThanItsOwnTrials) {
  TpeGroup group(Floats(1), {0});
  std::vector<std::vector<double>> units;
  for (std::uint32_t i = 0; i < 200; ++i)
    units.push_back({i % 2 == 0 ? 0.0005 * i : 1 - 0.0005 * i - 1e-9});
  for (std::uint32_t i = 0; i < 200; ++i) {
    const TrialId trial{i % 2 == 0 ? Number(kFirstKnownTrial) + i : i + 1};
    group.Add(trial, RankOf(Complete(Number(trial), {units[i]}, 1)), units[i]);
  }
  std::vector<float> bad(2);
  group.MakeDensities({}).bad.LogDensity(std::vector<double>{0.05, 0.95}, bad);
  EXPECT_GT(bad[1], bad[0] + 0.5F);
}

TEST(Tpe, ASpaceWithoutAParameterThatIsAlwaysThere) {
  const Space space = Space::Make({{.name = "x", .low = 0, .high = 1, .when = "1 > 2"}}).value();
  TpeSampler sampler(space, 1);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Point point = sampler.Propose(i).value();
    EXPECT_TRUE(space.Contains(point));
    sampler.Observe(Complete(i + 1, point, 1));
  }
}

}  // namespace
}  // namespace sluice
