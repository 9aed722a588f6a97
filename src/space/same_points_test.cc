#include "space/same_points.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sluice {
namespace {

Space Of(std::vector<Parameter> parameters, std::vector<std::string> constraints = {}) {
  return *Space::Make(std::move(parameters), std::move(constraints));
}

TEST(SamePointsTest, SaysWhatDiffers) {
  const Parameter lr{.name = "lr", .low = 0.1, .high = 1};
  const Parameter act{
      .name = "act", .kind = ParameterKind::kCategorical, .choices = {"relu", "tanh"}};
  const Space space = Of({lr, act});
  EXPECT_EQ(WhyOtherPoints(space, space), "");
  Parameter other = lr;
  other.law = Law::kLog;
  EXPECT_EQ(WhyOtherPoints(space, Of({other, act})), "") << "its points are the same";
  other.high = 2;
  EXPECT_EQ(WhyOtherPoints(space, Of({other, act})), "'lr' has another range");
  EXPECT_EQ(WhyOtherPoints(space, Of({lr})), "only it has 'act'");
  EXPECT_EQ(WhyOtherPoints(Of({lr}), space), "it has no 'act'");
  EXPECT_EQ(WhyOtherPoints(space, Of({act, lr})), "its parameters are in another order");
  Parameter reversed = act;
  reversed.choices = {"tanh", "relu"};
  EXPECT_EQ(WhyOtherPoints(space, Of({lr, reversed})), "'act' has other choices");
  EXPECT_EQ(WhyOtherPoints(space, Of({lr, act}, {"lr < 0.5"})), "it has other constraints");
}

}  // namespace
}  // namespace sluice
