#include "train/bundle/width_choice.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace sluice::train {
namespace {

struct Chosen {
  std::size_t width = 0;
  std::set<std::size_t> tried;
  int steps = 0;
};

// Chooses where a step of one trial takes as long as `seconds_at` says of a width.
Chosen ChooseWidth(std::size_t trials, const std::function<double(std::size_t)>& seconds_at) {
  WidthChoice choice;
  Chosen chosen;
  for (; choice.IsMeasuring(trials) && chosen.steps < 1000; ++chosen.steps) {
    const std::size_t width = choice.WidthFor(trials);
    chosen.tried.insert(width);
    choice.Measured(trials, seconds_at(width) * static_cast<double>(trials));
  }
  chosen.width = choice.WidthFor(trials);
  return chosen;
}

TEST(WidthChoiceTest, OneTrialIsNotMeasured) {
  WidthChoice choice;
  EXPECT_FALSE(choice.IsMeasuring(1));
  EXPECT_EQ(choice.WidthFor(1), 1u);
}

TEST(WidthChoiceTest, NarrowNetworksAreStackedAsWideAsTheyCanBe) {
  const Chosen chosen =
      ChooseWidth(16, [](std::size_t width) { return 1.0 + 10.0 / static_cast<double>(width); });
  EXPECT_EQ(chosen.width, 16u);
  EXPECT_EQ(chosen.tried, (std::set<std::size_t>{16, 8, 4})) << "the others can only be slower";
}

TEST(WidthChoiceTest, WhereStackingDoesNotPayEachTrialRunsAlone) {
  const Chosen chosen =
      ChooseWidth(16, [](std::size_t width) { return 1.0 + 0.1 * static_cast<double>(width); });
  EXPECT_EQ(chosen.width, 1u);
}

TEST(WidthChoiceTest, TheFastestWidthMayLieBetween) {
  const Chosen chosen = ChooseWidth(24, [](std::size_t width) {
    const double w = static_cast<double>(width);
    return 1 + 4 / w + w / 16;
  });
  EXPECT_EQ(chosen.width, 8u);
}

TEST(WidthChoiceTest, ASlowMomentDoesNotDecide) {
  int step = 0;
  const Chosen chosen = ChooseWidth(
      4, [&](std::size_t width) { return (++step % 3 == 0 ? 50.0 : 1.0) * (width == 4 ? 1 : 2); });
  EXPECT_EQ(chosen.width, 4u);
}

TEST(WidthChoiceTest, WhatWasMeasuredHoldsForOtherNumbersOfTrials) {
  WidthChoice choice;
  while (choice.IsMeasuring(8)) choice.Measured(8, choice.WidthFor(8) == 2 ? 1 : 10);
  EXPECT_EQ(choice.WidthFor(8), 2u);
  int steps = 0;
  while (choice.IsMeasuring(7)) {
    EXPECT_EQ(choice.WidthFor(7), 7u) << "only this width is new";
    choice.Measured(7, 10);
    ++steps;
  }
  EXPECT_EQ(steps, WidthChoice::kUncountedSteps + WidthChoice::kCountedSteps);
  EXPECT_EQ(choice.WidthFor(7), 2u);
}

TEST(WidthChoiceTest, NoWidthIsLargerThanTheLimit) {
  WidthChoice choice;
  choice.Limit(3);
  EXPECT_EQ(choice.WidthFor(16), 3u);
  std::size_t widest = 0;
  for (int step = 0; choice.IsMeasuring(16); ++step) {
    ASSERT_LT(step, 100);
    const std::size_t width = choice.WidthFor(16);
    widest = std::max(widest, width);
    choice.Measured(16, 1.0 / static_cast<double>(width));
  }
  EXPECT_EQ(widest, 3u);
  EXPECT_EQ(choice.WidthFor(16), 3u);
  EXPECT_EQ(choice.WidthFor(2), 2u);
}

}  // namespace
}  // namespace sluice::train
