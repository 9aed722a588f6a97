#include "train/bundle/arrangement_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace sluice::train {
namespace {

struct Chosen {
  Arrangement arrangement;
  std::set<Arrangement> tried;
  int steps = 0;
};

// What a step takes that trains so many trials in an arrangement.
using StepSeconds = std::function<double(const Arrangement&)>;

// Follows the choice until nothing is left to be measured.
Chosen Choose(ArrangementChoice& choice, std::size_t trials, const StepSeconds& seconds) {
  Chosen chosen;
  for (; choice.IsMeasuring(trials) && chosen.steps < 1000; ++chosen.steps) {
    const Arrangement now = choice.For(trials);
    chosen.tried.insert(now);
    choice.Measured(trials, seconds(now));
  }
  chosen.arrangement = choice.For(trials);
  return chosen;
}

// On one core, where a step of one trial takes as long as `seconds` says of a width.
Chosen ChooseWidth(std::size_t trials, const std::function<double(double)>& seconds) {
  ArrangementChoice choice(1);
  return Choose(choice, trials, [&](const Arrangement& now) {
    return seconds(static_cast<double>(now.width)) * static_cast<double>(trials);
  });
}

// On two cores. `alone`: what a stack of a width takes on one core. `gain`: how much faster an
// operator is on two cores.
StepSeconds OnTwoCores(std::size_t trials, double gain,
                       const std::function<double(double)>& alone) {
  return [=](const Arrangement& now) {
    std::vector<double> stacks;
    for (std::size_t left = trials; left > 0; left -= std::min(left, now.width))
      stacks.push_back(alone(static_cast<double>(std::min(left, now.width))));
    double cores[2] = {0, 0};
    for (const double each : stacks) {
      if (now.workers == 1) {
        cores[0] += each / gain;
      } else {
        *std::ranges::min_element(cores) += each;
      }
    }
    return std::max(cores[0], cores[1]);
  };
}

constexpr int kStepsEach = ArrangementChoice::kUncountedSteps + ArrangementChoice::kCountedSteps;

TEST(ArrangementChoiceTest, OneTrialIsNotMeasured) {
  ArrangementChoice choice(4);
  EXPECT_FALSE(choice.IsMeasuring(1));
  EXPECT_EQ(choice.For(1), (Arrangement{.width = 1, .workers = 1}));
}

TEST(ArrangementChoiceTest, NarrowNetworksAreStackedAsWideAsTheyCanBe) {
  const Chosen chosen = ChooseWidth(16, [](double width) { return 1.0 + 10.0 / width; });
  EXPECT_EQ(chosen.arrangement.width, 16u);
  EXPECT_EQ(chosen.tried, (std::set<Arrangement>{{16}, {8}, {4}}))
      << "the others can only be slower";
}

TEST(ArrangementChoiceTest, WhereStackingDoesNotPayEachTrialRunsAlone) {
  const Chosen chosen = ChooseWidth(16, [](double width) { return 1.0 + 0.1 * width; });
  EXPECT_EQ(chosen.arrangement, (Arrangement{.width = 1, .workers = 1}));
}

TEST(ArrangementChoiceTest, TheFastestWidthMayLieBetween) {
  const Chosen chosen = ChooseWidth(24, [](double width) { return 1 + 4 / width + width / 16; });
  EXPECT_EQ(chosen.arrangement.width, 8u);
}

TEST(ArrangementChoiceTest, ASlowMomentDoesNotDecide) {
  int step = 0;
  const Chosen chosen = ChooseWidth(
      4, [&](double width) { return (++step % 3 == 0 ? 50.0 : 1.0) * (width == 4 ? 1 : 2); });
  EXPECT_EQ(chosen.arrangement.width, 4u);
}

TEST(ArrangementChoiceTest, WhatWasMeasuredHoldsForOtherNumbersOfTrials) {
  ArrangementChoice choice(1);
  const auto seconds = [](const Arrangement& now) { return now.width == 2 ? 1.0 : 10.0; };
  EXPECT_EQ(Choose(choice, 8, seconds).arrangement.width, 2u);
  const Chosen chosen = Choose(choice, 7, seconds);
  EXPECT_EQ(chosen.tried, (std::set<Arrangement>{{7}})) << "only this width is new";
  EXPECT_EQ(chosen.steps, kStepsEach);
  EXPECT_EQ(chosen.arrangement.width, 2u);
}

TEST(ArrangementChoiceTest, NoWidthIsLargerThanTheLimit) {
  ArrangementChoice choice(2);
  choice.LimitWidth(3);
  EXPECT_EQ(choice.For(16).width, 3u);
  const auto seconds = OnTwoCores(16, 1.5, [](double width) { return 1 + width / 10; });
  const Chosen chosen = Choose(choice, 16, seconds);
  for (const Arrangement& each : chosen.tried) EXPECT_LE(each.width, 3u);
  EXPECT_EQ(chosen.arrangement, (Arrangement{.width = 3, .workers = 2}));
}

TEST(ArrangementChoiceTest, WhereOperatorsAreHardlyFasterOnTwoCoresStacksTrainSideBySide) {
  ArrangementChoice choice(2);
  // Grouped convolutions: wider stacks are slower.
  const Chosen chosen = Choose(
      choice, 16, OnTwoCores(16, 1.3, [](double width) { return width + width * width / 50; }));
  EXPECT_EQ(chosen.arrangement, (Arrangement{.width = 1, .workers = 2}));
}

TEST(ArrangementChoiceTest, NarrowNetworksMaySideBySideBeStackedToo) {
  ArrangementChoice choice(2);
  const Chosen chosen =
      Choose(choice, 16, OnTwoCores(16, 1.1, [](double width) { return 10 + width; }));
  EXPECT_EQ(chosen.arrangement, (Arrangement{.width = 8, .workers = 2}));
  EXPECT_FALSE(chosen.tried.contains({.width = 16, .workers = 2})) << "a core would be idle";
}

TEST(ArrangementChoiceTest, WhereOperatorsUseAllCoresWellStacksTrainOneAfterAnother) {
  ArrangementChoice choice(2);
  const Chosen chosen =
      Choose(choice, 16, OnTwoCores(16, 2, [](double width) { return 10 + width; }));
  EXPECT_EQ(chosen.arrangement, (Arrangement{.width = 16, .workers = 1}));
}

TEST(ArrangementChoiceTest, ATrialThatLeavesACoreIdleCounts) {
  ArrangementChoice choice(2);
  const auto alone = [](double width) { return 3 * width; };
  EXPECT_EQ(Choose(choice, 8, OnTwoCores(8, 1.6, alone)).arrangement.workers, 2u);
  EXPECT_EQ(Choose(choice, 3, OnTwoCores(3, 1.6, alone)).arrangement.workers, 1u)
      << "two rounds of 3 s, and 5.6 s one after another";
}

TEST(ArrangementChoiceTest, FewTrialsTrainSideBySideOnManyCores) {
  ArrangementChoice choice(8);
  const Chosen chosen =
      Choose(choice, 3, [](const Arrangement& now) { return now.workers > 1 ? 1.0 : 2.0; });
  EXPECT_EQ(chosen.arrangement, (Arrangement{.width = 1, .workers = 3}));
}

TEST(ArrangementChoiceTest, SideBySideCanBeRuledOut) {
  ArrangementChoice choice(2);
  const auto seconds = OnTwoCores(4, 1, [](double width) { return width; });
  EXPECT_EQ(Choose(choice, 4, seconds).arrangement.workers, 2u);
  choice.RuleOutSideBySide();
  EXPECT_FALSE(choice.allows_side_by_side());
  EXPECT_FALSE(choice.IsMeasuring(4));
  EXPECT_EQ(choice.For(4).workers, 1u);
}

}  // namespace
}  // namespace sluice::train
