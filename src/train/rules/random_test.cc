#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "train/program.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

// y = x * w, and then this operator, which draws, in place or not.
model::Graph DrawingOnce(const std::string& op, const std::vector<GraphMaker::Given>& more) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto w = maker.Parameter("weight");
  std::vector<GraphMaker::Given> given = {maker.Call("aten.mul.Tensor", {x, w})};
  given.insert(given.end(), more.begin(), more.end());
  return maker.Finish({maker.Call(op, given)});
}

struct DrawingCase {
  std::string op;
  std::vector<GraphMaker::Given> more;
  double mean;  // of what is drawn where x * w is -1
  double deviation;
};

class RandomTest : public testing::TestWithParam<DrawingCase> {};

TEST_P(RandomTest, WhatIsDrawnHasItsLawAndDependsOnTheTrialAlone) {
  const auto program =
      Program::Prepare(DrawingOnce(GetParam().op, GetParam().more), {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->draws());
  EXPECT_TRUE(program->fallbacks().empty());
  const at::Tensor weights = -at::ones({3, 100, 200}, at::kDouble).requires_grad_();
  const std::vector<Value> inputs = {Shared(at::ones({100, 200}, at::kDouble))};
  const std::vector<CounterDraws::Trial> trials = {{3, 9}, {4, 9}, {3, 2}};
  const CounterDraws together(trials);
  const std::vector<at::Tensor> all = {weights};
  const auto found =
      program->Run({.trials = 3, .parameters = all, .inputs = inputs, .draws = &together});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->looped.empty());
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    const at::Tensor y = OfTrial(found->outputs[0], trial);
    ASSERT_EQ(y.sizes(), at::IntArrayRef({100, 200}));
    // 20,000 numbers: six standard errors.
    const double mean = y.mean().item().toDouble();
    EXPECT_NEAR(mean, GetParam().mean, 6 * GetParam().deviation / std::sqrt(20000.0));
    EXPECT_NEAR(y.std().item().toDouble(), GetParam().deviation, 0.05 * GetParam().deviation);
    const CounterDraws own({trials[static_cast<std::size_t>(trial)]});
    const std::vector<at::Tensor> one = {weights.narrow(0, trial, 1)};
    const auto alone =
        program->Run({.trials = 1, .parameters = one, .inputs = inputs, .draws = &own});
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_TRUE(at::equal(y, OfTrial(alone->outputs[0], 0)));
  }
  EXPECT_FALSE(at::equal(OfTrial(found->outputs[0], 0), OfTrial(found->outputs[0], 1)));
  EXPECT_FALSE(at::equal(OfTrial(found->outputs[0], 0), OfTrial(found->outputs[0], 2)));
}

INSTANTIATE_TEST_SUITE_P(
    Laws, RandomTest,
    testing::Values(
        DrawingCase{"aten.normal_.default", {2.0, 0.5}, 2, 0.5},
        DrawingCase{"aten.uniform_.default", {1.0, 4.0}, 2.5, 3 / std::sqrt(12.0)},
        DrawingCase{"aten.exponential_.default", {2.0}, 0.5, 0.5},
        DrawingCase{"aten.log_normal_.default",
                    {0.0, 0.5},
                    std::exp(0.125),
                    std::sqrt(std::expm1(0.25) * std::exp(0.25))},
        DrawingCase{"aten.geometric_.default", {0.25}, 4, std::sqrt(12.0)},
        DrawingCase{"aten.random_.to", {std::int64_t{5}}, 2, std::sqrt(2.0)},
        DrawingCase{"aten.random_.from", {std::int64_t{-3}, std::int64_t{4}}, 0, 2},
        DrawingCase{"aten.random_.default", {}, 0x1p52, 0x1p53 / std::sqrt(12.0)},
        DrawingCase{"aten.bernoulli_.float", {0.25}, 0.25, std::sqrt(0.1875)},
        DrawingCase{"aten.rrelu.default", {0.1, 0.5, true}, -0.3, 0.4 / std::sqrt(12.0)},
        DrawingCase{"aten.rrelu_.default", {0.1, 0.5, true}, -0.3, 0.4 / std::sqrt(12.0)}),
    [](const auto& each) {
      std::string name = each.param.op;
      std::erase_if(name, [](char letter) { return !std::isalnum(letter) && letter != '_'; });
      return name;
    });

// It has neither a mean nor a deviation: its quartiles lie around the median.
TEST(CauchyTest, AQuarterOfTheNumbersLiesBelowTheMedianByMoreThanSigma) {
  const auto program =
      Program::Prepare(DrawingOnce("aten.cauchy_.default", {1.0, 0.5}), {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const CounterDraws draws({{3, 9}});
  const std::vector<at::Tensor> weights = {at::ones({1, 20000}, at::kDouble)};
  const std::vector<Value> inputs = {Shared(at::ones({20000}, at::kDouble))};
  const auto found =
      program->Run({.trials = 1, .parameters = weights, .inputs = inputs, .draws = &draws});
  ASSERT_TRUE(found) << found.error().message;
  const at::Tensor& y = found->outputs[0].tensor;
  const std::pair<double, double> parts[] = {{0.5, 0.25}, {1.0, 0.5}, {1.5, 0.75}};
  for (const auto& [bound, part] : parts)
    EXPECT_NEAR(y.lt(bound).to(at::kDouble).mean().item().toDouble(), part, 0.02) << bound;
}

TEST(RandomWholeTest, NumbersOfEachTypeAreWholeAndInTheirRange) {
  struct Range {
    model::DType type;
    double least, most;
  };
  const Range ranges[] = {{model::DType::kUint8, 0, 255},
                          {model::DType::kInt8, 0, 127},
                          {model::DType::kBool, 0, 1},
                          {model::DType::kInt64, 0, 0x1p63}};
  for (const auto& [type, least, most] : ranges) {
    GraphMaker maker;
    const auto x = maker.Input();
    const auto zeros = maker.Call("aten.zeros_like.default", {x, type});
    const auto drawn = maker.Call("aten.random_.default", {zeros});
    const auto program = Program::Prepare(maker.Finish({drawn}), {.real = at::kDouble});
    ASSERT_TRUE(program) << program.error().message;
    const CounterDraws draws({{3, 9}, {4, 9}});
    const std::vector<Value> inputs = {Shared(at::ones({1000}, at::kDouble))};
    const auto found =
        program->Run({.trials = 2, .parameters = {}, .inputs = inputs, .draws = &draws});
    ASSERT_TRUE(found) << found.error().message;
    const at::Tensor y = found->outputs[0].tensor.to(at::kDouble);
    ASSERT_EQ(y.numel(), 2000);
    EXPECT_GE(y.min().item().toDouble(), least);
    EXPECT_LE(y.max().item().toDouble(), most);
    EXPECT_GE(y.max().item().toDouble(), 0.9 * most);
  }
}

TEST(RandomWholeTest, WrongBoundsAreRefused) {
  const std::vector<at::Tensor> weights = {at::ones({1, 2}, at::kDouble)};
  const std::vector<Value> inputs = {Shared(at::ones({2}, at::kDouble))};
  const CounterDraws draws({{3, 9}});
  for (const auto& [op, more] : std::vector<std::pair<std::string, std::vector<GraphMaker::Given>>>{
           {"aten.random_.to", {std::int64_t{0}}},
           {"aten.random_.from", {std::int64_t{4}, std::int64_t{4}}},
           {"aten.geometric_.default", {1.5}},
           {"aten.cauchy_.default", {0.0, 0.0}},
           {"aten.log_normal_.default", {0.0, -1.0}}}) {
    const auto program = Program::Prepare(DrawingOnce(op, more), {.real = at::kDouble});
    ASSERT_TRUE(program) << program.error().message;
    const auto found =
        program->Run({.trials = 1, .parameters = weights, .inputs = inputs, .draws = &draws});
    ASSERT_FALSE(found) << op;
    EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument) << op;
  }
}

TEST(RandomReluTest, SlopesOfWhatIsEvaluatedAreTheirMean) {
  const auto program =
      Program::Prepare(DrawingOnce("aten.rrelu.default", {0.1, 0.5, false}), {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE(program->draws());
  const std::vector<at::Tensor> weights = {Numbers({2, 5}, 1)};
  const std::vector<Value> inputs = {Shared(at::ones({5}, at::kDouble))};
  const auto found = program->Run({.trials = 2, .parameters = weights, .inputs = inputs});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(at::allclose(found->outputs[0].tensor, at::leaky_relu(weights[0], 0.3)));
}

}  // namespace
}  // namespace sluice::train
