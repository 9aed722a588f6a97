#include "model/evaluate/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "model/zoo/builder.h"
#include "model/zoo/zoo.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A network on vectors of four numbers, and its evaluation.
Graph TrainedGraph(const std::function<ValueId(Builder&, ValueId)>& of) {
  Builder b;
  const ValueId x = b.Input("x", {4});
  return std::move(b).Finish({of(b, x)})->graph;
}

Evaluation Evaluated(const Graph& training) {
  auto made = MakeEvaluation(training);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : Evaluation{};
}

std::vector<std::string> Ops(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

const ArgumentValue& ValueOf(const Node& node, std::string_view name) {
  return Find(node, name)->value;
}

TEST(EvaluationTest, NothingIsDropped) {
  for (const char* op :
       {"aten.dropout.default", "aten.dropout_.default", "aten.alpha_dropout.default",
        "aten.alpha_dropout_.default", "aten.feature_dropout.default",
        "aten.feature_dropout_.default", "aten.feature_alpha_dropout.default",
        "aten.feature_alpha_dropout_.default"}) {
    const Graph training = TrainedGraph([&](Builder& b, ValueId x) {
      const ValueId y = b.Call(op, {Arg("input", b.Relu(x)), Arg("p", 0.1), Arg("train", true)});
      return b.Call("aten.tanh.default", {Arg("self", y)});
    });
    const Evaluation made = Evaluated(training);
    EXPECT_THAT(Ops(made.graph), ElementsAre("aten.relu.default", "aten.tanh.default")) << op;
    EXPECT_EQ(std::get<ValueId>(ValueOf(made.graph.nodes[1], "self")),
              *made.graph.nodes[0].outputs[0]);
    EXPECT_THAT(made.notes, IsEmpty());
    EXPECT_EQ(made.graph.values.size(), training.values.size()) << "values keep their places";
  }
}

TEST(EvaluationTest, AnOutputThatWasDroppedIsWhatItWasBefore) {
  const Graph training =
      TrainedGraph([](Builder& b, ValueId x) { return b.Dropout(b.Dropout(b.Relu(x), 0.5), 0.1); });
  const Evaluation made = Evaluated(training);
  EXPECT_THAT(Ops(made.graph), ElementsAre("aten.relu.default"));
  EXPECT_EQ(made.graph.outputs.front(), *made.graph.nodes[0].outputs[0]);
}

TEST(EvaluationTest, NormsUseTheirRunningStatisticsAndCountNothing) {
  const Evaluation made = Evaluated(TrainedGraph(
      [](Builder& b, ValueId x) { return b.BatchNorm("norm", b.Linear("fc", x, 4, 8), 8); }));
  EXPECT_THAT(Ops(made.graph), ElementsAre("aten.linear.default", "aten.batch_norm.default"));
  EXPECT_FALSE(std::get<bool>(ValueOf(made.graph.nodes[1], "training")));
  ASSERT_EQ(made.graph.parameters.size(), 7u) << "the counter remains in the list";
  EXPECT_EQ(made.graph.parameters.back().name, "norm.num_batches_tracked");
  EXPECT_THAT(made.notes, IsEmpty());
}

Evaluation InstanceNormed(bool tracks) {
  return Evaluated(TrainedGraph([&](Builder& b, ValueId x) {
    std::vector<Argument> arguments = {
        Arg("input", x), {.name = "weight", .value = {}}, {.name = "bias", .value = {}}};
    for (const char* name : {"running_mean", "running_var"}) {
      Argument statistic{.name = name, .value = {}};
      if (tracks) statistic.value = b.Constant(name, {4}, 0);
      arguments.push_back(std::move(statistic));
    }
    arguments.push_back(Arg("use_input_stats", true));
    return b.Call("aten.instance_norm.default", std::move(arguments));
  }));
}

TEST(EvaluationTest, ANormWithoutRunningStatisticsUsesThoseOfTheBatch) {
  for (const bool tracks : {true, false}) {
    const Evaluation made = InstanceNormed(tracks);
    EXPECT_EQ(std::get<bool>(ValueOf(made.graph.nodes[0], "use_input_stats")), !tracks);
  }
}

TEST(EvaluationTest, AttentionAndRecurrentLayersDropNothing) {
  const Graph attends = TrainedGraph([](Builder& b, ValueId x) {
    const ValueId y =
        b.Call("aten.unsqueeze.default", {Arg("self", x), Arg("dim", std::int64_t{0})});
    return b.Attention(y, y, y, false, 0.3);
  });
  const Evaluation made = Evaluated(attends);
  EXPECT_EQ(std::get<double>(ValueOf(made.graph.nodes[1], "dropout_p")), 0);
  auto language = BuildFromZoo("lstm-lm");
  ASSERT_TRUE(language) << language.error().message;
  std::size_t found = 0;
  for (const Node& node : Evaluated(language->graph).graph.nodes) {
    EXPECT_NE(OperatorOf(node), "dropout");
    if (OperatorOf(node) != "lstm") continue;
    ++found;
    EXPECT_FALSE(std::get<bool>(ValueOf(node, "train")));
    EXPECT_EQ(std::get<double>(ValueOf(node, "dropout")), 0);
  }
  EXPECT_EQ(found, 1u);
}

TEST(EvaluationTest, RandomSlopesBecomeTheirMean) {
  const Evaluation made = Evaluated(TrainedGraph([](Builder& b, ValueId x) {
    const ValueId y = b.Call("aten.rrelu.default", {Arg("self", x), Arg("lower", 0.1),
                                                    Arg("upper", 0.5), Arg("training", true)});
    return b.Call("aten.rrelu_.default", {Arg("self", y), Arg("training", true)});
  }));
  EXPECT_THAT(Ops(made.graph), ElementsAre("aten.leaky_relu.default", "aten.leaky_relu_.default"));
  EXPECT_DOUBLE_EQ(std::get<double>(ValueOf(made.graph.nodes[0], "negative_slope")), 0.3);
  EXPECT_DOUBLE_EQ(std::get<double>(ValueOf(made.graph.nodes[1], "negative_slope")), 11.0 / 48);
}

// A running mean of the inputs, which is subtracted from them if `reads`.
Graph WithOwnMean(bool reads) {
  return TrainedGraph([&](Builder& b, ValueId x) {
    const ValueId mean = b.Buffer("mean", {4}, {});
    const ValueId scaled = b.Call("aten.mul_.Tensor", {Arg("self", mean), Arg("other", 0.9)});
    const ValueId batch = b.Call("aten.mean.dim", {Arg("self", x), Ints("dim", {0})});
    b.Call("aten.add_.Tensor", {Arg("self", scaled), Arg("other", batch)});
    const ValueId view =
        b.Call("aten.unsqueeze.default", {Arg("self", mean), Arg("dim", std::int64_t{0})});
    return b.Call("aten.sub.Tensor", {Arg("self", x), Arg("other", reads ? view : x)});
  });
}

TEST(EvaluationTest, ABufferIsWrittenOnlyIfTheOutputDependsOnIt) {
  const Evaluation unread = Evaluated(WithOwnMean(false));
  EXPECT_THAT(Ops(unread.graph), ElementsAre("aten.sub.Tensor"));
  EXPECT_THAT(unread.notes, IsEmpty());
  const Evaluation read = Evaluated(WithOwnMean(true));
  EXPECT_EQ(read.graph.nodes.size(), 5u);
  EXPECT_THAT(read.notes,
              ElementsAre(HasSubstr("(aten.mul_.Tensor) writes 'mean', which is read afterwards"),
                          HasSubstr("(aten.add_.Tensor) writes 'mean', which is read afterwards")));
}

// relu_ writes what dropout returns. In evaluation that is h itself, whose view is read afterwards.
TEST(EvaluationTest, AWriteThatIsSeenThroughAViewStays) {
  const Evaluation made = Evaluated(TrainedGraph([](Builder& b, ValueId x) {
    const ValueId h = b.Call("aten.tanh.default", {Arg("self", x)});
    const ValueId view = b.Transpose(h, 0, 1);
    b.Call("aten.relu_.default", {Arg("self", b.Dropout(h, 0.5))});
    return b.Call("aten.exp.default", {Arg("self", view)});
  }));
  EXPECT_THAT(Ops(made.graph), ElementsAre("aten.tanh.default", "aten.transpose.int",
                                           "aten.relu_.default", "aten.exp.default"));
}

TEST(EvaluationTest, WhatIsDrawnIsNamedIfTheOutputDependsOnIt) {
  const auto of = [](bool uses) {
    return TrainedGraph([&](Builder& b, ValueId x) {
      Builder::Scope scope(b, "block1");
      const ValueId noise = b.Call("aten.rand_like.default", {Arg("self", x)});
      return b.Call("aten.mul.Tensor", {Arg("self", x), Arg("other", uses ? noise : x)});
    });
  };
  EXPECT_THAT(Evaluated(of(true)).notes,
              ElementsAre(HasSubstr("(aten.rand_like.default in 'block1') draws numbers in "
                                    "evaluation as in training")));
  EXPECT_THAT(Evaluated(of(false)).notes, IsEmpty());
}

TEST(EvaluationTest, ChecksOfWhatIsNoLongerComputedAreRemoved) {
  const Evaluation made = Evaluated(TrainedGraph([](Builder& b, ValueId x) {
    b.CallForMany("aten._assert_tensor_metadata.default", {Arg("a", x)}, 0, false);
    const ValueId unused = b.Call("aten.exp.default", {Arg("self", x)});
    b.CallForMany("aten._assert_tensor_metadata.default", {Arg("a", unused)}, 0, false);
    return b.Relu(x);
  }));
  EXPECT_THAT(Ops(made.graph),
              ElementsAre("aten._assert_tensor_metadata.default", "aten.relu.default"));
}

TEST(EvaluationTest, AComputedFlagIsRefused) {
  Graph training = TrainedGraph(
      [](Builder& b, ValueId x) { return b.BatchNorm("norm", b.Linear("fc", x, 4, 8), 8); });
  for (Node& node : training.nodes)
    for (Argument& argument : node.arguments)
      if (argument.name == "training") argument.value = training.inputs.front();
  const auto made = MakeEvaluation(training);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(made.error().message,
              HasSubstr("(aten.batch_norm.default in 'norm'): expected a constant as 'training', "
                        "found something that is computed"));
}

}  // namespace
}  // namespace sluice::model
