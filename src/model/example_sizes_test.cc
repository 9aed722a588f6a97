#include "model/example_sizes.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::model {
namespace {

Graph GraphThatTakes(std::vector<Size> sizes) {
  Graph graph;
  graph.values.push_back({.name = "x", .sizes = std::move(sizes)});
  graph.inputs = {ValueId{0}};
  return graph;
}

Takes HowTaken(const Graph& graph, std::vector<std::int64_t> example) {
  return HowItTakes(graph, example);
}

TEST(ExampleSizesTest, AnImageIsFlattenedForANetworkThatTakesAVector) {
  const Graph graph = GraphThatTakes({{.symbol = "s0"}, {.number = 784}});
  EXPECT_EQ(HowTaken(graph, {784}), Takes::kAsItIs);
  EXPECT_EQ(HowTaken(graph, {1, 28, 28}), Takes::kFlattened);
  EXPECT_EQ(HowTaken(graph, {3, 28, 28}), Takes::kNot);
  EXPECT_EQ(HowTaken(graph, {783}), Takes::kNot);
  EXPECT_EQ(SizesItTakes(graph), "784");
}

TEST(ExampleSizesTest, SizesThatTheInputsDecideFitAny) {
  const Graph graph =
      GraphThatTakes({{.symbol = "s0"}, {.number = 3}, {.number = 32, .symbol = "s1"}});
  EXPECT_EQ(HowTaken(graph, {3, 17}), Takes::kAsItIs);
  EXPECT_EQ(HowTaken(graph, {4, 17}), Takes::kNot);
  EXPECT_EQ(HowTaken(graph, {51}), Takes::kNot);
  EXPECT_EQ(SizesItTakes(graph), "3, s1");
}

TEST(ExampleSizesTest, AVectorIsNotMadeAnImage) {
  const Graph graph =
      GraphThatTakes({{.symbol = "s0"}, {.number = 1}, {.number = 28}, {.number = 28}});
  EXPECT_EQ(HowTaken(graph, {784}), Takes::kNot);
  EXPECT_EQ(HowTaken(graph, {1, 28, 28}), Takes::kAsItIs);
}

}  // namespace
}  // namespace sluice::model
