#include "model/analyse/origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ValueId kWeight{0};
constexpr ValueId kTied{1};
constexpr ValueId kMade{2};

// A weight of [3, 4], the same weight under another name, and a value that is no parameter.
Graph WithWeight() {
  Graph graph;
  graph.values.resize(3);
  graph.parameters.push_back({.name = "weight", .value = kWeight, .sizes = {3, 4}});
  graph.parameters.push_back({.name = "tied", .value = kTied, .sizes = {3, 4}, .tied_to = 0});
  return graph;
}

std::vector<Use> UsesOf(const Origins& origins, ValueId operand, std::size_t axis) {
  std::vector<Use> uses;
  origins.AddUses(NodeId{7}, operand, {axis}, /*lookup=*/false, uses);
  return uses;
}

TEST(OriginsTest, AUseNamesTheAxesOfTheParameter) {
  Origins origins(WithWeight());
  EXPECT_FALSE(origins.IsMadeOfParameter(kMade));
  EXPECT_THAT(UsesOf(origins, kMade, 0), IsEmpty());
  origins.Follow(kWeight, kMade, {{1}, {}, {0}});  // transposed, with an axis in between
  EXPECT_TRUE(origins.IsMadeOfParameter(kMade));
  const std::vector<Use> uses = UsesOf(origins, kMade, 0);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].node, NodeId{7});
  EXPECT_EQ(uses[0].operand, kMade);
  EXPECT_THAT(uses[0].contracted, ElementsAre(false, true));
  EXPECT_THAT(UsesOf(origins, kMade, 1)[0].contracted, ElementsAre(false, false));
}

TEST(OriginsTest, AnAxisMayComeFromSeveral) {
  Origins origins(WithWeight());
  origins.Follow(kWeight, kMade, {{0, 1}});
  EXPECT_THAT(UsesOf(origins, kMade, 0)[0].contracted, ElementsAre(true, true));
}

TEST(OriginsTest, AUseOfATiedParameterIsOneOfTheFirst) {
  const Origins origins(WithWeight());
  EXPECT_EQ(UsesOf(origins, kTied, 1)[0].parameter, 0U);
}

}  // namespace
}  // namespace sluice::model
