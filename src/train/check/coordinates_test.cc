#include "train/check/coordinates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

recipe::TrialRecipe Checked(const std::string& network, const std::string& rule) {
  recipe::TrialRecipe recipe;
  recipe.network = network;
  recipe.rule = rule;
  recipe.optimizer.kind = recipe::OptimizerKind::kAdam;
  return recipe;
}

TEST(CoordinatesTest, SizesDoNotFollowTheWidthByTheRule) {
  const auto check = CheckCoordinates(Checked("zoo:mlp,in=16,hidden=256,layers=3", "mup"));
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->unchecked, "");
  EXPECT_THAT(check->scales, ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(check->lines.size(), 4u);
  EXPECT_TRUE(check->alike()) << check->Worst().name << " " << check->Worst().exponent;
}

TEST(CoordinatesTest, WithoutTheRuleTheyDo) {
  recipe::TrialRecipe recipe = Checked("zoo:mlp,in=16,hidden=256,layers=3", "standard");
  recipe.keep_readout = true;
  const auto check = CheckCoordinates(recipe);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_FALSE(check->alike());
  const std::string svg = CoordinatesSvg("a < b", *check);
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("<polyline "));
  EXPECT_THAT(svg, HasSubstr("width / 8"));
  EXPECT_THAT(svg, HasSubstr(check->Worst().name));
}

TEST(CoordinatesTest, ANetworkThatGetsNoNarrowerIsUnchecked) {
  const auto check = CheckCoordinates(Checked("zoo:mlp,in=16,hidden=8", "mup"));
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->unchecked,
            "the network gets narrower at 0 of the scales 2, 4 and 8, and at least 2 are needed");
}

TEST(CoordinatesTest, ANetworkThatIsNotThereIsAnError) {
  EXPECT_FALSE(CheckCoordinates(Checked("/nowhere/net.pt2", "mup")));
}

}  // namespace
}  // namespace sluice::train
