#include "search/samplers/tpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// The part of many proposals within 0.1 of `centre`.
double PartOfTpeNear(TpeSampler& sampler, double centre) {
  int near = 0;
  for (std::uint64_t counter = 0; counter < 100; ++counter)
    near += std::abs(sampler.Propose(counter).value().front() - centre) < 0.1 ? 1 : 0;
  return near / 100.0;
}

// Observes `count` trials, spread evenly over the line. A trial that passes several levels has the
// same loss at each.
void ObserveOverTheLine(TpeSampler& sampler, std::uint32_t first, int count, Observation like,
                        double optimum) {
  for (int i = 0; i < count; ++i) {
    const double x = (i + 0.5) / count;
    like.trial = TrialId(first + static_cast<std::uint32_t>(i));
    like.point = {x};
    like.value = std::abs(x - optimum);
    std::ranges::fill(like.by_level, like.value);
    sampler.Observe(like);
  }
}

const SamplerSpec kLevels = {.name = "tpe", .levels = {1, 3, 9}};

TEST(Tpe, LearnsFromTrialsThatWereStoppedPausedOrRunAsFromCompleteOnes) {
  for (const Outcome outcome : {Outcome::kStopped, Outcome::kPaused, Outcome::kRunning}) {
    TpeSampler sampler(kLevels, Floats(1), 1);
    ObserveOverTheLine(sampler, 1, 60, {.outcome = outcome, .work = 1, .by_level = {0}}, 0.3);
    EXPECT_GT(PartOfTpeNear(sampler, 0.3), 0.6);
  }
}

// A stopper lets the first trials go on, since there is nothing to compare them with.
TEST(Tpe, HavingGoneFarIsNoMeritInItself) {
  TpeSampler sampler(kLevels, Floats(1), 1);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    sampler.Observe({.trial = TrialId(i),
                     .point = {0.9},
                     .outcome = Outcome::kComplete,
                     .work = 9,
                     .value = 0.7,
                     .by_level = {0.9, 0.8, 0.7}});
  }
  ObserveOverTheLine(sampler, 10, 60, {.outcome = Outcome::kStopped, .work = 1, .by_level = {0}},
                     0.3);
  EXPECT_GT(PartOfTpeNear(sampler, 0.3), 0.6);
  EXPECT_LT(PartOfTpeNear(sampler, 0.9), 0.1);
}

TEST(Tpe, ComparesAtTheHighestLevelThatEnoughTrialsHavePassed) {
  TpeSampler sampler(kLevels, Floats(1), 1);
  const Observation far{.outcome = Outcome::kStopped, .work = 3, .by_level = {0, 0}};
  ObserveOverTheLine(sampler, 1, 60, {.outcome = Outcome::kStopped, .work = 1, .by_level = {0}},
                     0.2);
  ObserveOverTheLine(sampler, 100, 7, far, 0.8);
  EXPECT_GT(PartOfTpeNear(sampler, 0.2), 0.5) << "seven are not enough";
  ObserveOverTheLine(sampler, 200, 20, far, 0.8);
  EXPECT_GT(PartOfTpeNear(sampler, 0.8), 0.5);
  EXPECT_LT(PartOfTpeNear(sampler, 0.2), 0.2);
}

// Trials near 0.2 do well at first, and trials near 0.8 do better later. The later values must not
// change the comparison at the lower level.
TEST(Tpe, ATrialCountsWithWhatItHadAtTheLevel) {
  TpeSampler sampler(kLevels, Floats(1), 1);
  ObserveOverTheLine(sampler, 1, 60, {.outcome = Outcome::kStopped, .work = 1, .by_level = {0}},
                     0.2);
  for (std::uint32_t i = 0; i < 7; ++i) {
    sampler.Observe({.trial = TrialId(100 + i),
                     .point = {0.77 + 0.01 * i},
                     .outcome = Outcome::kRunning,
                     .work = 8,
                     .value = 0,
                     .by_level = {0.6, 0.3}});
  }
  EXPECT_GT(PartOfTpeNear(sampler, 0.2), 0.5);
  EXPECT_LT(PartOfTpeNear(sampler, 0.8), 0.2);
}

TEST(Tpe, WhatAnObservationSays) {
  const std::vector<Work> levels = {1, 3, 9};
  const auto losses = [&](const Observation& observation) {
    return TrialOf(observation, levels).losses;
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(losses({.outcome = Outcome::kStopped, .work = 4, .value = 2, .by_level = {5, 3}}),
              ElementsAre(5, 3));
  EXPECT_THAT(losses({.outcome = Outcome::kRunning, .work = 3, .value = 2, .by_level = {kNone, 2}}),
              ElementsAre(kInfinity, 2));
  // The program ended by itself.
  EXPECT_THAT(losses({.outcome = Outcome::kComplete, .work = 4, .value = 2, .by_level = {5, 3}}),
              ElementsAre(5, 3, 2));
  EXPECT_THAT(losses({.outcome = Outcome::kStopped, .work = 0, .value = 2}), ElementsAre(2));
  EXPECT_THAT(losses({.outcome = Outcome::kRunning, .work = 0, .value = 2}), IsEmpty());
  // Of an earlier study only the last value is known.
  EXPECT_THAT(losses({.outcome = Outcome::kStopped, .work = 5, .value = 2}), ElementsAre(2, 2));
  EXPECT_THAT(losses({.outcome = Outcome::kFailed, .work = 5, .value = 2, .by_level = {2, 2}}),
              IsEmpty());

  EXPECT_TRUE(TrialOf({.outcome = Outcome::kFailed, .value = 2}, levels).IsRanked());
  EXPECT_TRUE(TrialOf({.outcome = Outcome::kStopped, .value = kNone}, levels).IsRanked());
  EXPECT_FALSE(TrialOf({.outcome = Outcome::kRunning, .value = kNone}, levels).IsRanked());
  EXPECT_FALSE(TrialOf({.outcome = Outcome::kPaused, .value = kNone}, levels).IsRanked());
  EXPECT_THAT(TrialOf({.outcome = Outcome::kComplete, .work = 7, .value = 2}, {}).losses,
              ElementsAre(2));
}

// Running trials keep others away until they have reached the level of the comparison. Trials that
// were stopped before it, or are paused, say nothing there.
TEST(Tpe, WhichTrialsAreBad) {
  const auto bad_at_half = [](Outcome outcome) {
    TpeGroup group(Floats(1), {0}, 2);
    std::vector<TpeTrial> trials(29);
    for (std::uint32_t i = 0; i < trials.size(); ++i) {
      const bool more = i >= 9;
      trials[i] = TrialOf({.trial = TrialId(i + 1),
                           .outcome = more ? outcome : Outcome::kComplete,
                           .work = 1,
                           .value = 1.0 + i},
                          {1, 9});
      trials[i].unit = {more ? 0.5 : 0.1};
      group.Add(trials[i]);
    }
    std::vector<float> bad(1);
    group.MakeDensities({}).bad.LogDensity(std::vector<double>{0.5}, bad);
    return bad[0];
  };
  const float left_out = bad_at_half(Outcome::kStopped);
  EXPECT_EQ(bad_at_half(Outcome::kPaused), left_out);
  EXPECT_GT(bad_at_half(Outcome::kRunning), left_out + 0.5F);
  EXPECT_GT(bad_at_half(Outcome::kFailed), left_out + 0.5F);
}

TEST(Tpe, WhereAllFailsItGoesOnTrying) {
  TpeSampler sampler({}, Floats(2), 1);
  double sum = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const Point point = sampler.Propose(i).value();
    sum += point[0];
    sampler.Observe(
        {.trial = TrialId(i + 1), .point = point, .outcome = Outcome::kFailed, .value = kNone});
  }
  EXPECT_NEAR(sum / 60, 0.5, 0.15);
}

TEST(Tpe, KeepsAwayFromWhereTrialsFail) {
  const Space space = Floats(2);
  TpeSampler sampler({}, space, 1);
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

// Proposals that are not yet trials, and trials that run, push the next ones away.
TEST(Tpe, ParallelProposalsKeepApart) {
  double apart = 0;
  double alone = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TpeSampler knowing({}, Floats(2), seed);
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
      TpeSampler ignorant({}, Floats(2), seed);
      for (const Observation& observation : observations) ignorant.Observe(observation);
      apiece.push_back(ignorant.Propose(40 + i).value());
    }
    apart += LeastDistance(together);
    alone += LeastDistance(apiece);
  }
  EXPECT_GT(apart, 1.2 * alone);
}

TEST(Tpe, AProposalOnItsWayIsWhatItBecomesAsATrial) {
  TpeSampler remembers({}, Floats(2), 1);
  TpeSampler is_told({}, Floats(2), 1);
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
  TpeSampler forwards({}, space, 9);
  TpeSampler backwards({}, space, 9);
  for (const Observation& observation : observations) forwards.Observe(observation);
  for (std::size_t i = observations.size(); i-- > 0;) {
    Observation running = observations[i];
    running.outcome = Outcome::kRunning;
    backwards.Observe(running);
    backwards.Observe(observations[i]);
  }
  for (std::uint64_t i = 3000; i < 3020; ++i) EXPECT_EQ(forwards.Propose(i), backwards.Propose(i));
}

TEST(Tpe, NeitherDoesTheOrderCountWhereTrialsAreStopped) {
  Random random(6);
  std::vector<Observation> observations;
  for (std::uint32_t i = 1; i <= 300; ++i) {
    Observation observation{.trial = TrialId(i), .point = {random.Uniform(), random.Uniform()}};
    const std::size_t passed = random.Below(4);
    for (std::size_t k = 0; k < passed; ++k)
      observation.by_level.push_back(random.Chance(0.1) ? kNone : 1.0 * random.Below(9));
    observation.work = passed == 0 ? 0 : kLevels.levels[passed - 1];
    observation.value = passed == 0 ? kNone : 1;
    observation.outcome = static_cast<Outcome>(random.Below(5));
    observations.push_back(observation);
  }
  TpeSampler forwards(kLevels, Floats(2), 9);
  TpeSampler backwards(kLevels, Floats(2), 9);
  for (const Observation& observation : observations) forwards.Observe(observation);
  for (std::size_t i = observations.size(); i-- > 0;) {
    Observation earlier = observations[i];
    earlier.outcome = Outcome::kRunning;
    earlier.by_level.resize(random.Below(earlier.by_level.size() + 1));
    earlier.work = earlier.by_level.empty() ? 0 : kLevels.levels[earlier.by_level.size() - 1];
    backwards.Observe(earlier);
    backwards.Observe(observations[i]);
  }
  for (std::uint64_t i = 300; i < 320; ++i) EXPECT_EQ(forwards.Propose(i), backwards.Propose(i));
}

// More trials than kernels: a sample of the bad trials still shows which points to avoid.
TEST(Tpe, ManyTrialsAreSampledAndStillLearnedFrom) {
  TpeSampler sampler({}, Floats(3), 1);
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
    TpeSampler sampler({}, space, seed);
    std::set<std::string> seen;
    for (std::uint32_t i = 0; i < *space.Cardinality(); ++i) {
      const Point point = sampler.Propose(i).value();
      EXPECT_TRUE(space.Contains(point));
      EXPECT_TRUE(seen.insert(space.Encode(point)).second) << i << " " << space.Encode(point);
      // Observations come late: up to three proposals are not trials yet.
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
    TpeSampler sampler({}, space, seed);
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
    TpeSampler sampler({}, space, seed);
    learned += BestOf(sampler, 80, ConditionalLoss);
  }
  EXPECT_LT(learned / 10, 0.01);
}

TEST(Tpe, ObeysNarrowConstraints) {
  std::vector<Parameter> parameters = Floats(3).parameters();
  const Space space = Space::Make(parameters, {"x0 + x1 + x2 < 0.5", "x0 * x1 < 0.01"}).value();
  TpeSampler sampler({}, space, 1);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Point point = sampler.Propose(i).value();
    ASSERT_TRUE(space.Contains(point)) << space.Encode(point);
    sampler.Observe(Complete(i + 1, point, -point[0] - point[1]));
  }
}

// There are as many bad trials from earlier studies at the left end as bad trials of this study at
// the right end. Those of this study are more recent, and count more.
TEST(Tpe, WhatWasKnownBeforeIsOlderThanItsOwnTrials) {
  TpeGroup group(Floats(1), {0}, 1);
  std::vector<TpeTrial> trials(200);
  for (std::uint32_t i = 0; i < 200; ++i) {
    const TrialId trial{i % 2 == 0 ? Number(kFirstKnownTrial) + i : i + 1};
    trials[i] = TrialOf(Complete(Number(trial), {}, 1), {});
    trials[i].unit = {i % 2 == 0 ? 0.0005 * i : 1 - 0.0005 * i - 1e-9};
    group.Add(trials[i]);
  }
  std::vector<float> bad(2);
  group.MakeDensities({}).bad.LogDensity(std::vector<double>{0.05, 0.95}, bad);
  EXPECT_GT(bad[1], bad[0] + 0.5F);
}

TEST(Tpe, ASpaceWithoutAParameterThatIsAlwaysThere) {
  const Space space = Space::Make({{.name = "x", .low = 0, .high = 1, .when = "1 > 2"}}).value();
  TpeSampler sampler({}, space, 1);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Point point = sampler.Propose(i).value();
    EXPECT_TRUE(space.Contains(point));
    sampler.Observe(Complete(i + 1, point, 1));
  }
}

}  // namespace
}  // namespace sluice
