#include "train/check/fallbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/state/test_archive.h"

namespace sluice::train {
namespace {

using model::TestProgram;
using testing::HasSubstr;
using testing::StartsWith;

TEST(FallbacksTest, NetworksOfTheZooHaveNone) {
  const auto found = MeasureFallbacks("zoo:mlp,in=12,hidden=16");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->nodes.empty());
  EXPECT_THAT(FallbacksText(*found), StartsWith("fallbacks   none of "));
}

// The differences of y = linear(x, weight): diff has no rule for several trials.
TEST(FallbacksTest, ANodeWithoutARuleIsNamedWithItsShareOfAStep) {
  TestProgram made = TestProgram::Minimal();
  made.nodes().push_back(TestProgram::Node(
      "torch.ops.aten.diff.default",
      TestProgram::Json::array({TestProgram::Argument("self", TestProgram::Tensor("y"))}),
      TestProgram::Json::array({TestProgram::Tensor("z")})));
  made.graph()["outputs"] = TestProgram::Json::array({TestProgram::Tensor("z")});
  made.tensors()["z"] = TestProgram::Meta(
      {TestProgram::Symbol("Symbol('s0', integer=True)", 2), TestProgram::Number(2)});
  const std::string path =
      WriteArchive(EmptyFolder() + "/net.pt2", made, {BytesOfFloats(std::vector<float>(12, 0.5F))});
  const auto found = MeasureFallbacks(path);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->nodes.size(), 1u);
  EXPECT_THAT(found->nodes[0].where, HasSubstr("(aten.diff.default in 'fc')"));
  EXPECT_GT(found->Share(), 0);
  EXPECT_LT(found->Share(), 1);
  EXPECT_THAT(FallbacksText(*found), StartsWith("fallbacks   1 of 2 nodes, "));
}

TEST(FallbacksTest, ANetworkThatIsNotThereFails) { EXPECT_FALSE(MeasureFallbacks("zoo:nothing")); }

}  // namespace
}  // namespace sluice::train
