#include "model/shrink/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/zoo/builder.h"
#include "model/zoo/zoo.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> SizesOf(const Graph& graph, std::string_view name) {
  for (const Parameter& parameter : graph.parameters)
    if (parameter.name == name) return parameter.sizes;
  return {};
}

Graph Shrunk(std::string_view network, const ShrinkOptions& options) {
  const BuiltModel model = *BuildFromZoo(network);
  const Widths widths = *Widths::Find(model.graph);
  auto made = Shrink(model.graph, widths, options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(made->graph) : Graph();
}

TEST(ShrinkTest, WidthsAreDividedAndTheRestStays) {
  const Graph graph = Shrunk("resnet18", {.scale = 8});
  EXPECT_THAT(SizesOf(graph, "conv1.weight"), ElementsAre(8, 3, 3, 3));
  EXPECT_THAT(SizesOf(graph, "layer4.0.conv1.weight"), ElementsAre(64, 32, 3, 3));
  EXPECT_THAT(SizesOf(graph, "layer4.0.downsample.0.weight"), ElementsAre(64, 32, 1, 1));
  EXPECT_THAT(SizesOf(graph, "layer4.1.bn2.running_mean"), ElementsAre(64));
  EXPECT_THAT(SizesOf(graph, "fc.weight"), ElementsAre(10, 64));
}

TEST(ShrinkTest, DepthwiseGroupsAreAsManyAsChannels) {
  const Graph graph = Shrunk("mobilenetv3", {.scale = 4, .min_width = 1});
  EXPECT_THAT(SizesOf(graph, "features.13.block.1.0.weight"), ElementsAre(168, 1, 5, 5));
  EXPECT_THAT(SizesOf(graph, "features.13.block.2.fc1.weight"), ElementsAre(42, 168, 1, 1));
  for (const Node& node : graph.nodes) {
    if (node.label != "features.13.block.1") continue;
    const Argument* groups = Find(node, "groups");
    if (groups == nullptr) continue;
    EXPECT_EQ(std::get<std::int64_t>(groups->value), 168);
  }
}

TEST(ShrinkTest, HeadsShrinkAndTheirSizeStays) {
  const Graph graph = Shrunk("gpt,layers=1,vocab=100,tokens=16", {.scale = 4});
  EXPECT_THAT(SizesOf(graph, "transformer.h.0.attn.c_attn.weight"), ElementsAre(192, 576));
  EXPECT_THAT(SizesOf(graph, "transformer.wte.weight"), ElementsAre(100, 192));
  EXPECT_THAT(SizesOf(graph, "lm_head.weight"), ElementsAre(100, 192)) << "tied";
  for (const Node& node : graph.nodes) {
    const Argument* shape = Find(node, "shape");
    if (shape == nullptr) continue;
    const auto& sizes = std::get<std::vector<IntegerOrValue>>(shape->value);
    if (sizes.size() == 4) {
      EXPECT_EQ(sizes[2].number, 3) << "heads";
      EXPECT_EQ(sizes[3].number, 64) << "the size of a head";
    }
  }
}

TEST(ShrinkTest, WhereThereAreTooFewHeadsTheirSizeShrinks) {
  const Graph graph = Shrunk("gpt,layers=1,vocab=100,tokens=16,width=256,heads=2", {.scale = 8});
  EXPECT_THAT(SizesOf(graph, "transformer.h.0.attn.c_proj.weight"), ElementsAre(32, 32));
  const Graph whole = Shrunk("gpt,layers=1,vocab=100,tokens=16,width=768,heads=12", {.scale = 8});
  EXPECT_THAT(SizesOf(whole, "transformer.h.0.attn.c_proj.weight"), ElementsAre(128, 96))
      << "two whole heads, although that is more than an eighth";
}

TEST(ShrinkTest, NothingGetsNarrowerThanTheLeastWidth) {
  const Graph graph = Shrunk("lenet", {.scale = 8, .min_width = 8});
  EXPECT_THAT(SizesOf(graph, "conv1.weight"), ElementsAre(6, 1, 5, 5)) << "it was narrower before";
  EXPECT_THAT(SizesOf(graph, "conv2.weight"), ElementsAre(8, 6, 5, 5));
  EXPECT_THAT(SizesOf(graph, "fc1.weight"), ElementsAre(15, 200)) << "flattened images of 5x5";
}

TEST(ShrinkTest, ATargetNumberOfParametersIsMet) {
  const BuiltModel model = *BuildFromZoo("resnet18");
  const Widths widths = *Widths::Find(model.graph);
  const auto made = ShrinkTo(model.graph, widths, 1'000'000, {.min_width = 1});
  ASSERT_TRUE(made);
  EXPECT_NEAR(static_cast<double>(TrainableElements(made->graph)), 1e6, 2e4);
  EXPECT_FALSE(ShrinkTo(model.graph, widths, 0, {}));
}

TEST(ShrinkTest, SizesCanBeChosen) {
  const BuiltModel model = *BuildFromZoo("mlp");
  const Widths widths = *Widths::Find(model.graph);
  const auto made = Shrink(model.graph, widths, {.scale = 8, .sizes = {{"w1", 100}}});
  ASSERT_TRUE(made);
  EXPECT_THAT(SizesOf(made->graph, "layers.1.weight"), ElementsAre(64, 100));
  const auto unknown = Shrink(model.graph, widths, {.sizes = {{"w9", 100}}});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("expected one of w1, w2, found 'w9'"));
  EXPECT_FALSE(Shrink(model.graph, widths, {.sizes = {{"w1", 0}}}));
  EXPECT_FALSE(Shrink(model.graph, widths, {.sizes = {{"w1", 513}}}));
  EXPECT_FALSE(Shrink(model.graph, widths, {.scale = 0.5}));
}

TEST(ShrinkTest, ANetworkWithoutWidthsIsRefused) {
  Builder b;
  const ValueId y = b.Linear("only", b.Input("x", {3}), 3, 2);
  const Graph graph = std::move(b).Finish({y})->graph;
  const Widths widths = *Widths::Find(graph);
  const auto made = Shrink(graph, widths, {.scale = 2});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("nothing in it can shrink"));
  EXPECT_FALSE(ShrinkTo(graph, widths, 4, {}));
}

TEST(ShrinkTest, AtScaleOneNothingChanges) {
  for (const ZooEntry& entry : Zoo()) {
    const BuiltModel model = *BuildFromZoo(entry.name);
    const Widths widths = *Widths::Find(model.graph);
    const auto made = Shrink(model.graph, widths, {.scale = 1});
    ASSERT_TRUE(made) << entry.name;
    for (std::size_t p = 0; p < model.graph.parameters.size(); ++p)
      EXPECT_EQ(made->graph.parameters[p].sizes, model.graph.parameters[p].sizes) << entry.name;
  }
}

TEST(ShrinkTest, EveryNetworkOfTheZooShrinksAtEveryScale) {
  for (const ZooEntry& entry : Zoo()) {
    const BuiltModel model = *BuildFromZoo(entry.name);
    const Widths widths = *Widths::Find(model.graph);
    std::int64_t before = TrainableElements(model.graph);
    for (const double scale : {2.0, 3.0, 4.0, 8.0, 16.0}) {
      const auto made = Shrink(model.graph, widths, {.scale = scale, .min_width = 1});
      ASSERT_TRUE(made) << entry.name << ": " << made.error().message;
      EXPECT_LE(TrainableElements(made->graph), before) << entry.name << " at " << scale;
      before = TrainableElements(made->graph);
    }
  }
}

}  // namespace
}  // namespace sluice::model
