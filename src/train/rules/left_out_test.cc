#include <gtest/gtest.h>

#include <cmath>

#include "train/program.h"
#include "train/test_graph.h"

// What a mask or a loss leaves out is as with PyTorch: nothing of it becomes NaN.
namespace sluice::train {
namespace {

using Given = GraphMaker::Given;

constexpr std::int64_t kPair = 2;  // trials

TEST(LeftOutTest, AQueryWhoseKeysAreAllForbiddenGetsZeros) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto mask = maker.Input("mask");
  const auto y = maker.Call("aten.scaled_dot_product_attention.default", {x, x, x, mask, 0.5});
  ProgramOptions options{.real = at::kDouble};
  options.stacked_inputs = {true, false};
  const auto program = Program::Prepare(maker.Finish({y}), options);
  ASSERT_TRUE(program) << program.error().message;
  const at::Tensor given = Numbers({kPair, 3, 4, 5}, 1).requires_grad_();
  at::Tensor allowed = at::ones({4, 4}, at::kBool).tril();
  allowed[0].fill_(false);
  const std::vector<Value> inputs = {Stacked(given), Shared(allowed)};
  const CounterDraws draws({{.seed = 1, .step = 0}, {.seed = 2, .step = 0}});
  const std::vector<DropoutRates> none = {
      {.node = program->dropout().front(), .of_trials = {0, 0}}};
  const auto ran = program->Run(
      {.trials = kPair, .parameters = {}, .inputs = inputs, .draws = &draws, .dropout = none});
  ASSERT_TRUE(ran) << ran.error().message;
  const at::Tensor found = ran->outputs[0].tensor;
  const at::Tensor expected = at::scaled_dot_product_attention(given, given, given, allowed);
  EXPECT_TRUE(at::allclose(found, expected));
  EXPECT_EQ(found.select(2, 0).abs().max().item<double>(), 0);
  const at::Tensor gradient = torch::autograd::grad({found.sum()}, {given})[0];
  const at::Tensor its = torch::autograd::grad({expected.sum()}, {given})[0];
  EXPECT_TRUE(at::allclose(gradient, its));
}

TEST(LeftOutTest, AnIgnoredClassNeedsNoWeight) {
  GraphMaker maker;
  const auto scores = maker.Input();
  const auto target = maker.Input("target");
  const auto weight = maker.Input("weight");
  const auto y = maker.Call("aten.cross_entropy_loss.default",
                            {scores, target, weight, std::int64_t{1}, std::int64_t{255}});
  ProgramOptions options{.real = at::kDouble};
  options.stacked_inputs = {true, true, false};
  const auto program = Program::Prepare(maker.Finish({y}), options);
  ASSERT_TRUE(program) << program.error().message;
  const at::Tensor given = Numbers({kPair, 4, 3}, 1);
  const at::Tensor classes = at::tensor({0, 255, 2, 1, 255, 255, 1, 1}, at::kLong).view({2, 4});
  const at::Tensor weights = at::tensor({0.5, 2.0, 3.0}, at::kDouble);
  const std::vector<Value> inputs = {Stacked(given), Stacked(classes), Shared(weights)};
  const auto ran = program->Run({.trials = kPair, .parameters = {}, .inputs = inputs});
  ASSERT_TRUE(ran) << ran.error().message;
  for (std::int64_t trial = 0; trial < kPair; ++trial) {
    const at::Tensor alone = at::cross_entropy_loss(given[trial], classes[trial], weights, 1, 255);
    EXPECT_NEAR(ran->outputs[0].tensor[trial].item<double>(), alone.item<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace sluice::train
