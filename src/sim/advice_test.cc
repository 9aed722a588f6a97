#include "sim/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/test_numbers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AdviceTest, TakesThePolicyThatIsBetterByMost) {
  const std::vector<Contender> contenders = {{"fifo", {100, 110, 120, 130}},
                                             {"lpt", {91, 99, 111, 119}},
                                             {"fluid", {51, 54, 61, 66}},
                                             {"slow", {200, 210, 220, 231}}};
  const Advice advice = Advise(contenders, {});
  EXPECT_EQ(advice.baseline, 0U);
  EXPECT_EQ(advice.advised, 2U);
  EXPECT_DOUBLE_EQ(advice.beside[2].gain.mean, 57);
  EXPECT_EQ(advice.beside[1].standing, Standing::kBetter);
  EXPECT_EQ(advice.beside[3].standing, Standing::kWorse);
  EXPECT_THAT(advice.as_good, IsEmpty());
  EXPECT_FALSE(advice.only_in_sim);
}

// Losses differ far more between seeds than between policies. So runs are compared in pairs with
// the same seed.
TEST(AdviceTest, SeedsArePaired) {
  const std::vector<Contender> contenders = {{"fifo", {100, 500, 900}}, {"lpt", {89, 490, 891}}};
  EXPECT_EQ(Advise(contenders, {}).advised, 1U);
  const std::vector<Contender> shuffled = {{"fifo", {100, 500, 900}}, {"lpt", {490, 891, 89}}};
  EXPECT_EQ(Advise(shuffled, {}).advised, 0U);
}

TEST(AdviceTest, NoiseLeavesTheSimplest) {
  const std::vector<Contender> contenders = {
      {"lpt", {98, 112, 119, 131}}, {"fifo", {100, 110, 120, 130}}, {"same", {100, 110, 120, 130}}};
  const Advice advice = Advise(contenders, {});
  EXPECT_EQ(advice.baseline, 1U);
  EXPECT_EQ(advice.advised, 1U);
  EXPECT_THAT(advice.as_good, ElementsAre(0U, 2U));
}

TEST(AdviceTest, OneSeedTellsNothingOfNoise) {
  const std::vector<Contender> contenders = {{"fifo", {100}}, {"lpt", {50}}};
  const Advice advice = Advise(contenders, {});
  EXPECT_EQ(advice.advised, 0U);
  EXPECT_TRUE(std::isnan(advice.beside[1].gain.half_width));
}

TEST(AdviceTest, WhatIsTooSmallToMatterDoesNot) {
  const std::vector<Contender> contenders = {{"fifo", {100, 200, 300}},
                                             {"lpt", {99.5, 199.5, 299.5}}};
  EXPECT_EQ(Advise(contenders, {}).advised, 1U);
  EXPECT_EQ(Advise(contenders, {.least_gain = 0.01}).advised, 0U);
  // The same numbers, added in another order.
  const double sum = (0.1 + 0.2) + 0.3;
  const double other = 0.1 + (0.2 + 0.3);
  ASSERT_NE(sum, other);
  const std::vector<Contender> rounded = {{"fifo", {sum, sum}}, {"lpt", {other, other}}};
  EXPECT_EQ(Advise(rounded, {}).advised, 0U);
}

TEST(AdviceTest, APolicyThatCannotRunIsSaidButNotAdvised) {
  const std::vector<Contender> contenders = {{"fifo", {100, 110, 120}},
                                             {"lpt", {80, 89, 101}},
                                             {"pack", {40, 45, 50}, false},
                                             {"pack2", {30, 34, 41}, false},
                                             {"slow", {90, 101, 109}, false}};
  const Advice advice = Advise(contenders, {});
  EXPECT_EQ(advice.advised, 1U);
  EXPECT_EQ(advice.only_in_sim, 3U);
}

TEST(AdviceTest, WithoutTheSimplestTheFirstThatCanRunIsTheMeasure) {
  const std::vector<Contender> contenders = {
      {"pack", {10, 11, 12}, false}, {"lpt", {100, 110, 120}}, {"fluid", {101, 111, 121}}};
  const Advice advice = Advise(contenders, {});
  EXPECT_EQ(advice.baseline, 1U);
  EXPECT_EQ(advice.advised, 1U);
}

TEST(AdviceTest, WhatCameToNothingIsTheWorst) {
  const std::vector<Contender> contenders = {{"fifo", {kNan, kNan, kNan, -0.5}},
                                             {"hypersched", {-0.9, -0.9, -0.91, -0.9}}};
  EXPECT_EQ(Advise(contenders, {}).advised, 1U);
  const std::vector<Contender> none_ran = {{"fifo", {kNan, kNan}}, {"lpt", {kNan, kNan}}};
  EXPECT_EQ(Advise(none_ran, {}).advised, 0U);
}

// Ten policies are as good as the baseline. Seldom is one of them called better.
TEST(AdviceTest, ManyContendersMakeNoWinner) {
  Random random(5);
  int fooled = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Contender> contenders;
    for (int i = 0; i < 11; ++i) {
      Contender& contender = contenders.emplace_back(Contender{i == 0 ? "fifo" : "other", {}});
      for (int seed = 0; seed < 20; ++seed) contender.losses.push_back(100 + random.Normal());
    }
    if (Advise(contenders, {}).advised != 0) ++fooled;
  }
  EXPECT_LT(fooled, 25);
}

}  // namespace
}  // namespace sluice
