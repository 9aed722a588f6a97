#include "model/example_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::model {
namespace {

using testing::HasSubstr;

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

std::string ElementsRefusal(DType taken, const ExampleElements& given) {
  Graph graph = GraphThatTakes({{.symbol = "s0"}, {.number = 4}});
  graph.values.front().dtype = taken;
  const Status fits = CheckElements(graph, "net.pt2", given);
  return fits ? "it was taken" : fits.error().message;
}

TEST(ExampleElementsTest, WholeNumbersAreForNetworksThatTakeThem) {
  for (const DType real : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    EXPECT_EQ(ElementsRefusal(real, {.type = "uint8"}), "it was taken");
    EXPECT_EQ(ElementsRefusal(real, {.type = "int64", .whole = true}),
              "data: expected floating-point inputs, as the network net.pt2 takes them, found "
              "int64: save them with astype('float32'), or take a network that begins with an "
              "embedding");
  }
  for (const DType whole : {DType::kInt64, DType::kInt32, DType::kUint8, DType::kBool}) {
    EXPECT_EQ(ElementsRefusal(whole, {.type = "int64", .whole = true}), "it was taken");
    EXPECT_THAT(ElementsRefusal(whole, {.type = "uint8"}),
                HasSubstr("found uint8, which a network is given as floating-point numbers: save "
                          "them with astype('int64')"));
  }
  EXPECT_TRUE(CheckElements(Graph(), "net.pt2", {.type = "float32"}))
      << "what has no inputs is refused elsewhere";
}

std::string BatchingRefusal(const Batching& given) {
  const Status fits = CheckBatching(8, "net.pt2", given);
  return fits ? "it was taken" : fits.error().message;
}

TEST(FixedBatchTest, IsTheFirstSizeUnlessTheInputsDecideIt) {
  EXPECT_EQ(FixedBatch(GraphThatTakes({{.number = 8}, {.number = 4}})), 8);
  EXPECT_EQ(FixedBatch(GraphThatTakes({{.number = 8, .symbol = "s0"}, {.number = 4}})),
            std::nullopt);
  EXPECT_EQ(FixedBatch(GraphThatTakes({{.number = -1}})), std::nullopt);
  EXPECT_EQ(FixedBatch(GraphThatTakes({})), std::nullopt);
  EXPECT_EQ(FixedBatch(Graph()), std::nullopt);
}

TEST(FixedBatchTest, NoOtherBatchIsTaken) {
  EXPECT_EQ(BatchingRefusal({.batch = 8, .training_examples = 17, .evaluation_examples = 9}),
            "it was taken");
  EXPECT_EQ(BatchingRefusal({.batch = 8, .training_examples = 8}), "it was taken");
  EXPECT_EQ(BatchingRefusal({.batch = 16, .training_examples = 17}),
            "train.batch: expected 8, as the network net.pt2 was exported with a batch of 8 "
            "(dynamic_batch=False), found 16");
  EXPECT_THAT(BatchingRefusal({.batch = 8, .training_examples = 7}),
              HasSubstr("data: expected at least 8 examples to train on, as the network net.pt2"));
  EXPECT_THAT(
      BatchingRefusal({.batch = 8, .training_examples = 9, .evaluation_examples = 7}),
      HasSubstr("data: expected at least 8 examples to evaluate on, as the network net.pt2"));
}

}  // namespace
}  // namespace sluice::model
