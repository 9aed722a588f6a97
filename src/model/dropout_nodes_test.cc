#include "model/dropout_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kRateInGraph = 0.3;

void AddNode(Graph& graph, std::string op, std::vector<Argument> arguments) {
  graph.nodes.push_back({.name = op,
                         .op = op,
                         .label = "layers." + std::to_string(graph.nodes.size()),
                         .arguments = std::move(arguments),
                         .outputs = {},
                         .region = {}});
}

// Each form of dropout, behind a node that drops nothing.
Graph EachForm(double rate, bool trains) {
  Graph graph;
  AddNode(graph, "aten.relu.default", {});
  for (const char* op : {"aten.dropout.default", "aten.dropout_.default",
                         "aten.feature_dropout.default", "aten.alpha_dropout.default"})
    AddNode(graph, op, {{.name = "p", .value = rate}, {.name = "train", .value = trains}});
  AddNode(graph, "aten.scaled_dot_product_attention.default",
          {{.name = "dropout_p", .value = trains ? rate : 0.0}});
  for (const std::int64_t layers : {1, 2})
    AddNode(graph, "aten.lstm.input",
            {{.name = "num_layers", .value = layers},
             {.name = "dropout", .value = rate},
             {.name = "train", .value = trains}});
  return graph;
}

TEST(DropoutNodesTest, AreListedWithTheirModulesAndRates) {
  const Graph graph = EachForm(kRateInGraph, true);
  std::vector<std::string> modules;
  for (const DropoutNode& each : DropoutNodes(graph)) {
    modules.emplace_back(each.module);
    EXPECT_EQ(each.rate, kRateInGraph);
    EXPECT_EQ(graph.nodes[Index(each.node)].label, each.module);
  }
  EXPECT_THAT(modules,
              ElementsAre("layers.1", "layers.2", "layers.3", "layers.4", "layers.5", "layers.7"))
      << "a single recurrent layer drops nothing";
  EXPECT_THAT(DropoutNodes(EachForm(kRateInGraph, false)), IsEmpty());
  EXPECT_EQ(DropoutNodes(EachForm(0, true)).size(), 4u)
      << "attention and layers without dropout are not told from those that never had any";
}

TEST(DropoutNodesTest, AModuleLiesInItselfAndInWhatHoldsIt) {
  EXPECT_TRUE(LiesIn("layers.1.drop", ""));
  EXPECT_TRUE(LiesIn("layers.1.drop", "layers.1"));
  EXPECT_TRUE(LiesIn("layers.1", "layers.1"));
  EXPECT_FALSE(LiesIn("layers.10", "layers.1"));
  EXPECT_FALSE(LiesIn("layers", "layers.1"));
}

}  // namespace
}  // namespace sluice::model
