#include "train/program.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::HasSubstr;
using Given = GraphMaker::Given;

const ProgramOptions kDouble = {.real = at::kDouble};

Given Of(std::vector<std::int64_t> numbers) {
  std::vector<model::IntegerOrValue> list;
  for (const std::int64_t each : numbers) list.push_back({.number = each, .value = {}});
  return list;
}

std::string Refusal(const model::Graph& graph) {
  const auto program = Program::Prepare(graph, kDouble);
  return program ? "" : program.error().message;
}

// x -> linear(w) -> batch norm -> relu in place, with a counter, as exported networks have them.
model::Graph NormedGraph() {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto w = maker.Parameter("weight");
  const auto gain = maker.Parameter("gain");
  const auto mean = maker.Parameter("mean", false);
  const auto variance = maker.Parameter("variance", false);
  const auto counter = maker.Parameter("counter", false);
  maker.Call("aten.add_.Tensor", {counter, std::int64_t{1}});
  auto y = maker.Call("aten.linear.default", {x, w});
  y = maker.Call("aten.batch_norm.default",
                 {y, gain, Given(), mean, variance, true, 0.1, 1e-5, false});
  const auto z = maker.Call("aten.relu_.default", {y});
  return maker.Finish({maker.Call("aten.add.Tensor", {y, z})});
}

TEST(ProgramTest, WhatNodesWriteInPlaceIsSeenByTheNextAndReturned) {
  const auto program = Program::Prepare(NormedGraph(), kDouble);
  ASSERT_TRUE(program) << program.error().message;
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(program->stacked(i)) << i;
  EXPECT_TRUE(program->fallbacks().empty());
  const at::Tensor x = Numbers({6, 4}, 1);
  std::vector<at::Tensor> parameters = {Numbers({3, 5, 4}, 2), Numbers({3, 5}, 3),
                                        Numbers({3, 5}, 4), Numbers({3, 5}, 5).abs(),
                                        at::tensor({4, 5, 6}, at::kLong)};
  const std::vector<at::Tensor> before = {parameters[2].clone(), parameters[4].clone()};
  const std::vector<Value> inputs = {Shared(x)};
  const auto found = program->Run({.trials = 3, .parameters = parameters, .inputs = inputs});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(at::equal(parameters[2], before[0])) << "what is handed in stays as it is";
  ASSERT_EQ(found->written.size(), 3u);
  for (const auto& [place, tensor] : found->written) {
    if (place == 4) {
      EXPECT_TRUE(at::equal(tensor, before[1] + 1));
    }
  }
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    at::Tensor mean = before[0][trial].clone();
    at::Tensor variance = parameters[3][trial].clone();
    const at::Tensor y = at::batch_norm(at::linear(x, parameters[0][trial]), parameters[1][trial],
                                        {}, mean, variance, true, 0.1, 1e-5, false);
    EXPECT_LT(Difference(OfTrial(found->outputs[0], trial), 2 * at::relu(y)), 1e-12);
    for (const auto& [place, tensor] : found->written) {
      if (place == 4) continue;
      EXPECT_LT(Difference(tensor[trial], place == 2 ? mean : variance), 1e-12);
    }
  }
}

TEST(ProgramTest, WritingWhatNoOtherNameIsReadOfIsTaken) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto y = maker.Call("aten.mul.Tensor", {x, 2.0});
  const auto view = maker.Call("aten.view.default", {y, Of({-1})});
  const auto written = maker.Call("aten.relu_.default", {view});
  EXPECT_EQ(Refusal(maker.Finish({written})), "");
}

TEST(ProgramTest, WritingATrainedParameterIsRefused) {
  GraphMaker maker;
  const auto w = maker.Parameter("weight");
  EXPECT_THAT(Refusal(maker.Finish({maker.Call("aten.mul_.Tensor", {w, 2.0})})),
              HasSubstr("it writes the parameter 'weight', which is trained"));
}

TEST(ProgramTest, NoOperatorIsCalledThatIsNotOnTheList) {
  for (const char* op :
       {"aten.from_file.default", "aten.set_.source_Storage", "aten.resize_.default",
        "aten.as_strided.default", "aten.as_strided_.default", "aten.normal.Tensor_Tensor",
        "aten.nothing_of_this_name.default", "prim.device.default", "custom.launch.default",
        "aten._foreach_add.Scalar", "aten.record_stream.default", "aten.add", "add", "",
        "operator.setitem", "aten.relu.out"}) {
    GraphMaker maker;
    const auto x = maker.Input();
    const std::string refusal = Refusal(maker.Finish({maker.Call(op, {x})}));
    EXPECT_THAT(refusal, HasSubstr("node 'node_0' (" + std::string(op) + " in 'part')")) << op;
    EXPECT_THAT(refusal, HasSubstr("does not call this one")) << op;
  }
}

TEST(ProgramTest, ArgumentsThatDoNotFitAreRefusedWithTheirNode) {
  const auto refusal = [](const std::string& op, const std::vector<Given>& more) {
    GraphMaker maker;
    std::vector<Given> all = {maker.Input()};
    all.insert(all.end(), more.begin(), more.end());
    return Refusal(maker.Finish({maker.Call(op, all)}));
  };
  EXPECT_THAT(refusal("aten.softmax.int", {}), HasSubstr("its argument 'dim' is missing"));
  EXPECT_THAT(refusal("aten.softmax.int", {std::string("x")}), HasSubstr("expected 'dim'"));
  EXPECT_THAT(refusal("aten.softmax.int", {0.5}), HasSubstr("expected 'dim'"));
  EXPECT_THAT(refusal("aten.relu.default", {std::int64_t{1}}), HasSubstr("has no argument 'a1'"));
  EXPECT_THAT(refusal("operator.mul", {}), HasSubstr("expected 2 operands"));
}

TEST(ProgramTest, ComputedSizesComeFromTheInputs) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto w = maker.Parameter("weight");
  const auto rows = maker.Call("aten.sym_size.int", {x, std::int64_t{0}});
  maker.graph().values[model::Index(rows)].kind = model::Value::Kind::kInteger;
  const auto twice = maker.Call("operator.mul", {rows, std::int64_t{2}});
  const auto y = maker.Call("aten.mul.Tensor", {x, w});
  const auto flat = maker.Call(
      "aten.view.default", {y, std::vector<model::IntegerOrValue>{{.number = 0, .value = twice},
                                                                  {.number = -1, .value = {}}}});
  const auto program = Program::Prepare(maker.Finish({flat}), kDouble);
  ASSERT_TRUE(program) << program.error().message;
  for (const std::int64_t batch : {2, 5}) {
    const std::vector<Value> inputs = {Shared(Numbers({batch, 6}, 1))};
    const std::vector<at::Tensor> parameters = {Numbers({3, 6}, 2)};
    const auto found = program->Run({.trials = 3, .parameters = parameters, .inputs = inputs});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->outputs[0].size(0), 2 * batch);
    EXPECT_EQ(found->outputs[0].size(1), 3);
  }
}

TEST(ProgramTest, NoGradientFlowsThroughRegionsWithoutIt) {
  GraphMaker maker;
  const auto w = maker.Parameter("weight");
  const auto inside = maker.Call("aten.mul.Tensor", {w, 2.0});
  const auto outside = maker.Call("aten.mul.Tensor", {w, inside});
  maker.graph().regions.push_back(
      {.no_grad = true, .autocast_device = "", .autocast_enabled = false});
  maker.graph().nodes[0].region = 0;
  const auto program = Program::Prepare(maker.Finish({inside, outside}), kDouble);
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<at::Tensor> parameters = {Numbers({2, 3}, 1).requires_grad_()};
  const auto found = program->Run({.trials = 2, .parameters = parameters, .inputs = {}});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->outputs[0].tensor.requires_grad());
  found->outputs[1].tensor.sum().backward();
  EXPECT_LT(Difference(parameters[0].grad(), 2 * parameters[0]), 1e-12);
  EXPECT_TRUE(at::GradMode::is_enabled());
}

// Dropout of the input, which all trials share, and behind a weight of each.
model::Graph DroppingGraph() {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto w = maker.Parameter("weight");
  auto y = maker.Call("aten.dropout.default", {x, 0.25, true});
  y = maker.Call("aten.linear.default", {y, w});
  return maker.Finish({maker.Call("aten.dropout.default", {y, 0.5, true})});
}

TEST(ProgramTest, WhatIsDroppedDependsOnTheTrialAlone) {
  const auto program = Program::Prepare(DroppingGraph(), kDouble);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->draws());
  const std::vector<Value> inputs = {Shared(Numbers({40, 6}, 1).abs() + 1)};
  const at::Tensor weights = Numbers({3, 5, 6}, 2);
  const std::vector<CounterDraws::Trial> trials = {{3, 9}, {4, 9}, {5, 2}};
  const CounterDraws together(trials);
  const std::vector<at::Tensor> all = {weights};
  const auto found =
      program->Run({.trials = 3, .parameters = all, .inputs = inputs, .draws = &together});
  ASSERT_TRUE(found) << found.error().message;
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    const CounterDraws own({trials[trial]});
    const std::vector<at::Tensor> one = {weights.narrow(0, trial, 1)};
    const auto alone =
        program->Run({.trials = 1, .parameters = one, .inputs = inputs, .draws = &own});
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_LT(Difference(OfTrial(found->outputs[0], trial), OfTrial(alone->outputs[0], 0)), 1e-12);
  }
  const double kept = found->outputs[0].tensor.ne(0).to(at::kDouble).mean().item().toDouble();
  EXPECT_NEAR(kept, 0.5, 0.08);
  EXPECT_FALSE(program->Run({.trials = 3, .parameters = all, .inputs = inputs}));
}

// What is trained elsewhere, or written by another graph, differs between trials here too.
TEST(ProgramTest, ParametersThatTheOptionsNameAreOfEachTrial) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto mean = maker.Parameter("mean", false);
  const auto variance = maker.Parameter("variance", false);
  const auto table = maker.Parameter("table", false);
  auto y = maker.Call("aten.batch_norm.default",
                      {x, Given(), Given(), mean, variance, false, 0.1, 1e-5, false});
  const model::Graph graph = maker.Finish({maker.Call("aten.mul.Tensor", {y, table})});
  const auto program =
      Program::Prepare(graph, {.real = at::kDouble, .stacked_parameters = {true, true, false}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->stacked(0));
  EXPECT_TRUE(program->stacked(1));
  EXPECT_FALSE(program->stacked(2));
  const std::vector<Value> inputs = {Shared(Numbers({6, 4}, 1))};
  const std::vector<at::Tensor> parameters = {Numbers({3, 4}, 2), Numbers({3, 4}, 3).abs(),
                                              Numbers({4}, 4)};
  const auto found = program->Run({.trials = 3, .parameters = parameters, .inputs = inputs});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->written.empty());
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    const at::Tensor alone = at::batch_norm(inputs[0].tensor, {}, {}, parameters[0][trial],
                                            parameters[1][trial], false, 0.1, 1e-5, false);
    EXPECT_LT(Difference(OfTrial(found->outputs[0], trial), alone * parameters[2]), 1e-12);
  }
  EXPECT_THAT(
      Program::Prepare(graph, {.stacked_parameters = {true, true, true, true}}).error().message,
      HasSubstr("expected at most 3 parameters"));
}

TEST(ProgramTest, AnOperatorWithoutARuleIsToldAndRunsTrialByTrial) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto w = maker.Parameter("weight");
  maker.Call("aten.trace.default", {x});
  const auto y = maker.Call("aten.mul.Tensor", {x, w});
  const auto program =
      Program::Prepare(maker.Finish({maker.Call("aten.trace.default", {y})}), kDouble);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->fallbacks().size(), 1u) << "what is the same for all trials is called once";
  EXPECT_EQ(program->fallbacks()[0].node, model::NodeId{2});
  EXPECT_EQ(program->fallbacks()[0].op, "aten.trace.default");
}

}  // namespace
}  // namespace sluice::train
