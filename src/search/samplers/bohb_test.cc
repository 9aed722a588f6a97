#include "search/samplers/bohb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/test_numbers.h"
#include "search/samplers/random.h"

namespace sluice {
namespace {

Space Line() { return Space::Make({{.name = "x", .low = 0, .high = 1}}).value(); }
Space Square() {
  return Space::Make({{.name = "x", .low = 0, .high = 1}, {.name = "y", .low = 0, .high = 1}})
      .value();
}

SamplerSpec SpecWithLevels(std::vector<Work> levels) {
  return {.name = "bohb", .levels = std::move(levels)};
}

Observation Stopped(std::uint32_t trial, double x, Work work, double loss) {
  return {.trial = TrialId(trial),
          .point = {x},
          .outcome = Outcome::kStopped,
          .work = work,
          .value = loss};
}

// The part of many proposals within 0.1 of `centre`; a random draw is there with probability 0.2.
double PartNear(BohbSampler& sampler, double centre) {
  int near = 0;
  for (std::uint64_t counter = 0; counter < 300; ++counter) {
    const Point point = sampler.Propose(counter).value();
    near += std::abs(point.front() - centre) < 0.1 ? 1 : 0;
  }
  return near / 300.0;
}

void ObserveEvenly(BohbSampler& sampler, int count, Work work, double optimum,
                   std::uint32_t first) {
  for (int i = 0; i < count; ++i) {
    const double x = (i + 0.5) / count;
    sampler.Observe(Stopped(first + static_cast<std::uint32_t>(i), x, work, std::abs(x - optimum)));
  }
}

TEST(BohbTest, ItIsRandomUntilEnoughIsKnownAndThenGathersWhereItWasGood) {
  BohbSampler sampler(SpecWithLevels({1, 3, 9}), Line(), 1);
  ObserveEvenly(sampler, 2, 1, 0.3, 1);
  EXPECT_NEAR(PartNear(sampler, 0.3), 0.2, 0.1);
  ObserveEvenly(sampler, 40, 1, 0.3, 10);
  const double part = PartNear(sampler, 0.3);
  EXPECT_GT(part, 0.5);
  EXPECT_LT(part, 0.95) << "a third stays random";
}

TEST(BohbTest, TheLargestBudgetWithEnoughTrialsCounts) {
  BohbSampler sampler(SpecWithLevels({1, 3, 9}), Line(), 1);
  ObserveEvenly(sampler, 60, 1, 0.2, 1);
  ObserveEvenly(sampler, 2, 9, 0.8, 100);
  EXPECT_GT(PartNear(sampler, 0.2), 0.4) << "two trials are not enough";
  ObserveEvenly(sampler, 20, 9, 0.8, 200);
  EXPECT_GT(PartNear(sampler, 0.8), 0.4);
  EXPECT_LT(PartNear(sampler, 0.2), 0.3);
}

TEST(BohbTest, AProgramThatEndedByItselfHasReachedEveryBudget) {
  BohbSampler sampler(SpecWithLevels({1, 3, 9}), Line(), 1);
  ObserveEvenly(sampler, 60, 1, 0.2, 1);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const double x = (i + 0.5) / 20;
    sampler.Observe({.trial = TrialId(100 + i),
                     .point = {x},
                     .outcome = Outcome::kComplete,
                     .work = 2,
                     .value = std::abs(x - 0.8)});
  }
  EXPECT_GT(PartNear(sampler, 0.8), 0.4);
}

TEST(BohbTest, WhatFailsIsAvoided) {
  BohbSampler sampler(SpecWithLevels({1, 3}), Line(), 2);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const double x = (i + 0.5) / 40;
    const bool fails = x > 0.5;
    sampler.Observe({.trial = TrialId(i + 1),
                     .point = {x},
                     .outcome = fails && i % 2 == 0 ? Outcome::kFailed : Outcome::kStopped,
                     .work = fails ? 0 : 1,
                     .value = fails ? kNan : 1 - x});
  }
  int bad = 0;
  for (std::uint64_t counter = 0; counter < 300; ++counter)
    bad += sampler.Propose(counter).value().front() > 0.6 ? 1 : 0;
  EXPECT_LT(bad, 75) << "about a third of 0.4 is random";
}

TEST(BohbTest, WhatIsKnownCountsNotTheOrderInWhichItWasLearned) {
  Random random(5);
  std::vector<Observation> last;
  for (std::uint32_t i = 1; i <= 50; ++i) {
    last.push_back({.trial = TrialId(i),
                    .point = {random.Uniform(), random.Uniform()},
                    .outcome = i % 7 == 0 ? Outcome::kFailed : Outcome::kRunning,
                    .work = static_cast<Work>(random.Below(10)),
                    .value = static_cast<double>(random.Below(5))});
  }
  BohbSampler steady(SpecWithLevels({1, 3, 9}), Square(), 3);
  BohbSampler restarted(SpecWithLevels({1, 3, 9}), Square(), 3);
  for (const Observation& observation : last) {
    Observation before = observation;
    before.outcome = Outcome::kRunning;
    before.work /= 2;
    before.value = kNan;
    steady.Observe(before);
    (void)steady.Propose(1000);
  }
  for (const Observation& observation : last) steady.Observe(observation);
  std::ranges::reverse(last);
  for (const Observation& observation : last) restarted.Observe(observation);
  for (std::uint64_t counter = 0; counter < 50; ++counter)
    EXPECT_EQ(steady.Propose(counter), restarted.Propose(counter)) << counter;
}

TEST(BohbTest, ItFindsMoreThanRandomSearchDoes) {
  const auto loss = [](const Point& point) {
    return std::pow(point[0] - 0.7, 2) + std::pow(point[1] - 0.2, 2);
  };
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BohbSampler bohb({.name = "bohb"}, Square(), seed);
    RandomSampler random(Square(), seed);
    double best_bohb = 10;
    double best_random = 10;
    for (std::uint32_t i = 0; i < 80; ++i) {
      const Point point = bohb.Propose(i).value();
      best_bohb = std::min(best_bohb, loss(point));
      bohb.Observe({.trial = TrialId(i + 1),
                    .point = point,
                    .outcome = Outcome::kComplete,
                    .work = 1,
                    .value = loss(point)});
      best_random = std::min(best_random, loss(random.Propose(i).value()));
    }
    wins += best_bohb < best_random ? 1 : 0;
  }
  EXPECT_GE(wins, 16);
}

}  // namespace
}  // namespace sluice
