#include "train/rules/rules.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "train/program.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

using List = std::vector<model::IntegerOrValue>;

constexpr std::int64_t kTrials = 3;

// An operand of a case: a tensor of these sizes. Indices are below `below`.
struct TensorSpec {
  std::vector<std::int64_t> sizes;
  std::int64_t below = 0;
  bool positive = false;
  bool flags = false;
};
using Spec = std::variant<TensorSpec, std::vector<TensorSpec>, model::ArgumentValue>;

struct RuleCase {
  std::string op;
  std::vector<Spec> arguments;
  std::size_t outputs = 1;
  bool returns_list = false;
  bool loops = false;  // the operator is expected to run trial by trial
};

TensorSpec T(std::vector<std::int64_t> sizes) { return {.sizes = std::move(sizes)}; }
TensorSpec Positive(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes), .below = 0, .positive = true};
}
TensorSpec Indices(std::vector<std::int64_t> sizes, std::int64_t below) {
  return {.sizes = std::move(sizes), .below = below};
}
TensorSpec Flags(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes), .below = 0, .positive = false, .flags = true};
}
Spec I(std::int64_t number) { return model::ArgumentValue(number); }
Spec R(double number) { return model::ArgumentValue(number); }
Spec B(bool flag) { return model::ArgumentValue(flag); }
Spec S(std::string text) { return model::ArgumentValue(std::move(text)); }
Spec None() { return model::ArgumentValue(); }
Spec Is(const std::vector<std::int64_t>& numbers) {
  List list;
  for (const std::int64_t each : numbers) list.push_back({.number = each, .value = {}});
  return model::ArgumentValue(std::move(list));
}

at::Tensor Make(const TensorSpec& spec, std::uint64_t seed) {
  const at::Tensor numbers = Numbers(spec.sizes, seed);
  if (spec.flags) return numbers > 0;
  if (spec.below > 0) return numbers.abs().mul(1000).to(at::kLong).remainder(spec.below);
  return spec.positive ? numbers.abs().add(0.1) : numbers;
}

// A case as a program of one node, and the tensors of each operand: one that is shared, and one for
// each trial.
class OneRule {
 public:
  // Under autocast the operands are float32, and results are as near as bfloat16 allows.
  explicit OneRule(const RuleCase& about, bool autocast = false)
      : real_(autocast ? at::kFloat : at::kDouble), bound_(autocast ? 0x1p-6 : 1e-12) {
    GraphMaker maker;
    std::vector<GraphMaker::Given> given;
    for (const Spec& spec : about.arguments) {
      if (const auto* tensor = std::get_if<TensorSpec>(&spec)) {
        given.emplace_back(maker.Input());
        specs_.push_back(*tensor);
      } else if (const auto* tensors = std::get_if<std::vector<TensorSpec>>(&spec)) {
        std::vector<std::optional<model::ValueId>> values;
        for (const TensorSpec& each : *tensors) {
          values.emplace_back(maker.Input());
          specs_.push_back(each);
        }
        given.emplace_back(std::move(values));
      } else {
        given.push_back(std::get<model::ArgumentValue>(spec));
      }
    }
    const auto outputs = maker.CallMany(about.op, given, about.outputs, about.returns_list);
    ProgramOptions options{.real = real_};
    if (autocast) options.autocast = at::kBFloat16;
    options.stacked_inputs.assign(specs_.size(), true);
    auto program = Program::Prepare(maker.Finish(outputs), options);
    if (!program) {
      error_ = program.error().message;
      return;
    }
    program_.emplace(std::move(*program));
  }

  std::size_t operands() const { return specs_.size(); }
  const std::string& error() const { return error_; }
  const Program& program() const { return *program_; }

  // Stacks the operands of the mask with the trials in the place that `axis` says, counted modulo
  // the places there are, and compares with the operator that PyTorch has, trial by trial.
  std::string Compare(unsigned mask, std::int64_t axis) {
    std::vector<Value> inputs;
    std::vector<std::vector<at::Tensor>> alone(kTrials);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const bool stacked = (mask >> i & 1) != 0;
      std::vector<at::Tensor> each;
      for (std::int64_t trial = 0; trial < kTrials; ++trial)
        each.push_back(AsReal(Make(specs_[i], 100 * i + (stacked ? trial : 0))));
      const std::int64_t place = (axis + static_cast<std::int64_t>(i)) %
                                 (static_cast<std::int64_t>(specs_[i].sizes.size()) + 1);
      const at::Tensor fused = stacked ? at::stack(each, place) : each[0].clone();
      if (fused.is_floating_point()) fused.requires_grad_();
      inputs.push_back(stacked ? Stacked(fused, place) : Shared(fused));
      for (std::int64_t trial = 0; trial < kTrials; ++trial) {
        if (each[trial].is_floating_point()) each[trial] = each[trial].clone().requires_grad_();
        alone[trial].push_back(each[trial]);
      }
    }
    const auto together = program_->Run({.trials = kTrials, .parameters = {}, .inputs = inputs});
    if (!together) return together.error().message;
    looped_ = looped_ || !together->looped.empty();
    at::Tensor sum = at::zeros({}, at::kDouble);
    at::Tensor sum_alone = at::zeros({}, at::kDouble);
    for (std::int64_t trial = 0; trial < kTrials; ++trial) {
      std::vector<Value> own;
      for (const at::Tensor& each : alone[trial]) own.push_back(Shared(each));
      const auto single = program_->Run({.trials = 1, .parameters = {}, .inputs = own});
      if (!single) return "alone: " + single.error().message;
      for (std::size_t i = 0; i < single->outputs.size(); ++i) {
        const at::Tensor& expected = single->outputs[i].tensor;
        const at::Tensor found = OfTrial(together->outputs[i], trial);
        if (found.scalar_type() != expected.scalar_type())
          return fmt::format("output {}: expected the type {}, found {}", i,
                             c10::toString(expected.scalar_type()),
                             c10::toString(found.scalar_type()));
        if (Difference(found, expected) > bound_)
          return fmt::format("output {} of trial {} differs by {}", i, trial,
                             Difference(found, expected));
        if (!expected.is_floating_point()) continue;
        const at::Tensor weights = Numbers(expected.sizes(), 77 + i);
        sum = sum + (found * weights).sum();
        sum_alone = sum_alone + (expected * weights).sum();
      }
    }
    return CompareGradients(inputs, alone, sum, sum_alone);
  }
  bool looped() const { return looped_; }

 private:
  at::Tensor AsReal(const at::Tensor& tensor) const {
    return tensor.is_floating_point() ? tensor.to(real_) : tensor;
  }

  std::string CompareGradients(const std::vector<Value>& inputs,
                               const std::vector<std::vector<at::Tensor>>& alone,
                               const at::Tensor& sum, const at::Tensor& sum_alone) const {
    if (!sum.requires_grad() || !sum_alone.requires_grad())
      return sum.requires_grad() == sum_alone.requires_grad() ? "" : "one has no gradient";
    sum.backward();
    sum_alone.backward();
    const auto gradient = [](const at::Tensor& tensor) {
      return tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor);
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].tensor.is_floating_point()) continue;
      const at::Tensor found = gradient(inputs[i].tensor);
      at::Tensor expected;
      if (inputs[i].stacked()) {
        std::vector<at::Tensor> each;
        for (const auto& own : alone) each.push_back(gradient(own[i]));
        expected = at::stack(each, inputs[i].axis);
      } else {
        for (const auto& own : alone)
          expected = expected.defined() ? expected + gradient(own[i]) : gradient(own[i]);
      }
      if (Difference(found, expected) > bound_)
        return fmt::format("the gradient of operand {} differs by {}", i,
                           Difference(found, expected));
    }
    return "";
  }

  at::ScalarType real_;
  double bound_;
  std::vector<TensorSpec> specs_;
  std::optional<Program> program_;
  std::string error_;
  bool looped_ = false;
};

std::vector<RuleCase> Cases() {
  return {
      {"aten.relu.default", {T({2, 4})}},
      {"aten.gelu.default", {T({2, 4}), S("tanh")}},
      {"aten.add.Tensor", {T({2, 3, 4}), T({3, 1})}},
      {"aten.add.Tensor", {T({4}), T({2, 3, 4}), R(0.5)}},
      {"aten.mul.Tensor", {T({2, 3}), T({})}},
      {"aten.mul.Tensor", {T({2, 3}), R(2.5)}},
      {"aten.pow.Tensor_Scalar", {T({2, 3}), I(2)}},
      {"aten.pow.Scalar", {R(2), T({2, 3})}},
      {"aten.where.self", {Flags({2, 3}), T({2, 3}), T({3})}},
      {"aten.addcmul.default", {T({2, 3}), T({3}), T({2, 1})}},
      {"aten.clamp.default", {T({2, 3}), R(-0.5), R(0.5)}},
      {"aten.masked_fill.Scalar", {T({2, 3}), Flags({2, 3}), R(0)}},
      {"aten.zeros_like.default", {T({2, 3})}},
      {"aten.to.dtype", {T({2, 3}), model::ArgumentValue(model::DType::kFloat32)}},
      {"aten.copy.default", {T({2, 3}), T({3})}},
      {"aten.copy.default", {T({2, 3}), T({2, 3})}},
      {"aten.fill.Tensor", {T({2, 3}), T({})}},
      {"aten.fill.Scalar", {T({2, 3}), R(0.5)}},
      {"aten.rrelu.default", {T({2, 3}), R(0.1), R(0.3), B(false)}},
      {"aten.mse_loss.default", {T({4, 3}), T({4, 3}), I(1)}},
      {"aten.mse_loss.default", {T({4, 3}), T({4, 3}), I(2)}},
      {"aten.kl_div.default", {T({4, 3}), Positive({4, 3}), I(1)}},
      {"aten.binary_cross_entropy_with_logits.default", {T({4, 3}), Positive({4, 3})}},
      {"aten.view.default", {T({2, 6}), Is({2, 2, 3})}},
      {"aten.view.default", {T({2, 6}), Is({-1})}},
      {"aten.reshape.default", {T({4, 1, 6}), Is({8, -1})}},
      {"aten.flatten.using_ints", {T({2, 3, 4}), I(1)}},
      {"aten.unflatten.int", {T({2, 6, 4}), I(1), Is({2, -1})}},
      {"aten.unsqueeze.default", {T({2, 3}), I(1)}},
      {"aten.unsqueeze.default", {T({2, 3}), I(-1)}},
      {"aten.squeeze.dim", {T({2, 1, 3}), I(1)}},
      {"aten.squeeze.default", {T({1, 2, 1, 3})}},
      {"aten.transpose.int", {T({2, 3, 4}), I(0), I(-1)}},
      {"aten.permute.default", {T({2, 3, 4}), Is({2, 0, 1})}},
      {"aten.expand.default", {T({3, 1}), Is({2, -1, 4})}},
      {"aten.expand_as.default", {T({3, 1}), T({3, 4})}},
      {"aten.broadcast_tensors.default", {std::vector{T({3, 1}), T({2, 1, 4})}}, 2, true},
      {"aten.repeat.default", {T({3, 2}), Is({2, 1, 3})}},
      {"aten.softmax.int", {T({2, 3, 4}), I(1)}},
      {"aten.log_softmax.int", {T({2, 3}), I(-1)}},
      {"aten.cumsum.default", {T({2, 3, 4}), I(1)}},
      {"aten.slice.Tensor", {T({2, 5, 3}), I(1), I(1), I(4), I(2)}},
      {"aten.select.int", {T({2, 5, 3}), I(1), I(-2)}},
      {"aten.chunk.default", {T({2, 6}), I(3), I(1)}, 3, true},
      {"aten.split.Tensor", {T({5, 2}), I(2)}, 3, true},
      {"aten.split_with_sizes.default", {T({2, 5}), Is({2, 3}), I(-1)}, 2, true},
      {"aten.unbind.int", {T({2, 3}), I(1)}, 3, true},
      {"aten.flip.default", {T({2, 3}), Is({0})}},
      {"aten.roll.default", {T({2, 3}), Is({1}), Is({-1})}},
      {"aten.glu.default", {T({2, 6}), I(1)}},
      {"aten.topk.default", {T({4, 5}), I(2), I(1)}, 2},
      {"aten.tril.default", {T({2, 3, 3})}},
      {"aten.tril.default", {T({3, 3}), I(1)}},
      {"aten.cat.default", {std::vector{T({2, 3}), T({2, 1})}, I(-1)}},
      {"aten.cat.default", {std::vector{T({2, 3}), T({1, 3})}}},
      {"aten.stack.default", {std::vector{T({2, 3}), T({2, 3})}, I(1)}},
      {"aten.pad.default", {T({2, 3, 4}), Is({1, 2, 0, 1}), S("constant"), R(1.5)}},
      {"aten.pad.default", {T({2, 3, 5, 4}), Is({1, 2, 1, 0}), S("reflect")}},
      {"aten.sum.default", {T({2, 3})}},
      {"aten.mean.default", {T({2, 3})}},
      {"aten.sum.dim_IntList", {T({2, 3, 4}), Is({0, -1})}},
      {"aten.mean.dim", {T({2, 3, 4}), Is({1}), B(true)}},
      {"aten.amax.default", {T({2, 3, 4}), Is({1})}},
      {"aten.max.dim", {T({2, 3, 4}), I(1)}, 2},
      {"aten.var.correction", {T({2, 3, 4}), Is({0, 1})}},
      {"aten.argmax.default", {T({2, 3, 4}), I(-1)}},
      {"aten.linalg_vector_norm.default", {T({2, 3}), R(2), Is({1})}},
      {"aten.logsumexp.default", {T({2, 3, 4}), Is({2})}},
      {"aten.linear.default", {T({4, 5}), T({3, 5}), T({3})}},
      {"aten.linear.default", {T({2, 4, 5}), T({3, 5})}},
      {"aten.linear.default", {T({5}), T({3, 5}), T({3})}},
      {"aten.matmul.default", {T({4, 5}), T({5, 3})}},
      {"aten.matmul.default", {T({2, 4, 5}), T({5, 3})}},
      {"aten.matmul.default", {T({2, 6, 4, 5}), T({6, 5, 3})}},
      {"aten.matmul.default", {T({5}), T({2, 5, 3})}},
      {"aten.matmul.default", {T({2, 4, 5}), T({5})}},
      {"aten.matmul.default", {T({5}), T({5})}},
      {"aten.dot.default", {T({5}), T({5})}},
      {"aten.bmm.default", {T({2, 4, 5}), T({2, 5, 3})}},
      {"aten.mv.default", {T({4, 5}), T({5})}},
      {"aten.addmm.default", {T({3}), T({4, 5}), T({5, 3})}},
      {"aten.addmm.default", {T({4, 3}), T({4, 5}), T({5, 3}), R(0.5), R(2)}},
      {"aten.baddbmm.default", {T({4, 3}), T({2, 4, 5}), T({2, 5, 3}), R(0.5), R(2)}},
      {"aten.einsum.default", {S("bij, bjk -> bik"), std::vector{T({2, 3, 4}), T({2, 4, 5})}}},
      {"aten.einsum.default", {S("...i,oi->...o"), std::vector{T({2, 3, 4}), T({5, 4})}}},
      {"aten.conv1d.default", {T({2, 4, 7}), T({6, 4, 3}), T({6}), Is({2}), Is({1})}},
      {"aten.conv2d.default", {T({2, 4, 6, 5}), T({6, 4, 3, 3}), T({6}), Is({1, 1}), Is({1, 1})}},
      {"aten.conv2d.default",
       {T({2, 4, 6, 5}), T({6, 2, 3, 3}), None(), Is({2, 2}), Is({0, 1}), Is({1, 1}), I(2)}},
      {"aten.conv2d.default", {T({4, 6, 5}), T({6, 4, 3, 3}), T({6})}},
      {"aten.conv2d.padding",
       {T({2, 4, 6, 5}), T({6, 4, 3, 3}), T({6}), Is({1, 1}), S("same"), Is({1, 1})}},
      {"aten.conv3d.default", {T({2, 2, 4, 4, 3}), T({3, 2, 2, 2, 2}), T({3})}},
      {"aten.conv_transpose2d.input",
       {T({2, 4, 5, 5}), T({4, 3, 3, 3}), T({3}), Is({2, 2}), Is({1, 1}), Is({1, 1})}},
      {"aten.conv_transpose2d.input",
       {T({2, 4, 5, 5}), T({4, 3, 3, 3}), None(), Is({1, 1}), Is({0, 0}), Is({0, 0}), I(2)}},
      {"aten.group_norm.default", {T({2, 6, 3}), I(3), T({6}), T({6})}},
      {"aten.instance_norm.default",
       {T({2, 4, 5}), T({4}), T({4}), None(), None(), B(true), R(0.1), R(1e-5), B(false)}},
      {"aten.layer_norm.default", {T({2, 3, 4}), Is({4}), T({4}), T({4})}},
      {"aten.layer_norm.default", {T({2, 3, 4}), Is({3, 4}), T({3, 4})}},
      {"aten.layer_norm.default", {T({2, 3, 4}), Is({4})}},
      {"aten.rms_norm.default", {T({2, 3, 4}), Is({4}), T({4}), R(1e-6)}},
      {"aten.max_pool2d.default", {T({2, 3, 6, 6}), Is({2, 2}), Is({2, 2})}},
      {"aten.avg_pool2d.default", {T({2, 3, 6, 6}), Is({3, 3})}},
      {"aten.adaptive_avg_pool2d.default", {T({2, 3, 6, 6}), Is({1, 1})}},
      {"aten.adaptive_max_pool2d.default", {T({2, 3, 6, 6}), Is({2, 2})}, 2},
      {"aten.max_pool1d.default", {T({2, 3, 6}), Is({2})}},
      {"aten.pixel_shuffle.default", {T({2, 4, 3, 3}), I(2)}},
      {"aten.upsample_nearest2d.vec", {T({2, 3, 4, 4}), Is({8, 8}), None()}},
      {"aten.embedding.default", {T({7, 4}), Indices({2, 3}, 7)}},
      {"aten.embedding.default", {T({7, 4}), Indices({2, 3}, 7), I(2)}},
      {"aten.gather.default", {T({4, 5}), I(1), Indices({4, 2}, 5)}},
      {"aten.index_select.default", {T({4, 5}), I(1), Indices({3}, 5)}, 1, false, true},
      {"aten.one_hot.default", {Indices({4}, 5), I(5)}},
      {"aten.scaled_dot_product_attention.default",
       {T({2, 3, 4, 5}), T({2, 3, 4, 5}), T({2, 3, 4, 5})}},
      {"aten.scaled_dot_product_attention.default",
       {T({2, 3, 4, 5}), T({2, 3, 6, 5}), T({2, 3, 6, 5}), T({4, 6})}},
      {"aten.scaled_dot_product_attention.default",
       {T({2, 3, 4, 5}), T({2, 3, 6, 5}), T({2, 3, 6, 5}), T({2, 1, 4, 6})}},
      {"aten.scaled_dot_product_attention.default",
       {T({2, 4, 5}), T({2, 4, 5}), T({2, 4, 5}), None(), R(0), B(true)}},
      {"aten.cross_entropy_loss.default", {T({4, 5}), Indices({4}, 5)}},
      {"aten.cross_entropy_loss.default",
       {T({4, 5, 3}), Indices({4, 3}, 5), None(), I(1), I(2), R(0.1)}},
      {"aten.cross_entropy_loss.default", {T({4, 5}), Positive({4, 5}), None(), I(1)}},
      {"aten.cross_entropy_loss.default", {T({4, 5}), Indices({4}, 5), None(), I(0)}},
      {"aten.nll_loss_nd.default", {T({4, 5}), Indices({4}, 5), None(), I(1), I(3)}},
      {"aten.prelu.default", {T({2, 3, 4}), T({3})}},
      {"aten._weight_norm.default", {T({4, 3, 2}), T({4, 1, 1}), I(0)}},
      {"aten.lstm.input",
       {T({3, 2, 4}), std::vector{T({2, 2, 5}), T({2, 2, 5})},
        std::vector{T({20, 4}), T({20, 5}), T({20}), T({20}), T({20, 5}), T({20, 5}), T({20}),
                    T({20})},
        B(true), I(2), R(0), B(true), B(false), B(false)},
       3},
      {"aten.lstm.input",
       {T({2, 3, 4}), std::vector{T({2, 2, 5}), T({2, 2, 5})},
        std::vector{T({20, 4}), T({20, 5}), T({20, 4}), T({20, 5})}, B(false), I(1), R(0), B(true),
        B(true), B(true)},
       3},
      {"aten.gru.input",
       {T({3, 2, 4}), T({1, 2, 5}), std::vector{T({15, 4}), T({15, 5}), T({15}), T({15})}, B(true),
        I(1), R(0), B(true), B(false), B(false)},
       2},
      {"aten.rnn_tanh.input",
       {T({3, 2, 4}), T({1, 2, 5}), std::vector{T({5, 4}), T({5, 5}), T({5}), T({5})}, B(true),
        I(1), R(0), B(true), B(false), B(false)},
       2},
      {"aten.gru_cell.default", {T({2, 4}), T({2, 5}), T({15, 4}), T({15, 5}), T({15}), T({15})}},
      {"aten.lstm_cell.default",
       {T({2, 4}), std::vector{T({2, 5}), T({2, 5})}, T({20, 4}), T({20, 5}), T({20}), T({20})},
       2},
      {"aten.bilinear.default", {T({4, 2}), T({4, 3}), T({5, 2, 3}), T({5})}, 1, false, true},
  };
}

class RuleTest : public testing::TestWithParam<std::size_t> {};

TEST_P(RuleTest, SeveralTrialsAtOnceAreEachAsAlone) {
  const RuleCase about = Cases()[GetParam()];
  SCOPED_TRACE(about.op);
  OneRule rule(about);
  ASSERT_EQ(rule.error(), "");
  // With many operands: all, each alone, and each alone shared.
  const unsigned all = (1u << rule.operands()) - 1;
  for (unsigned mask = 1; mask <= all; ++mask) {
    const int stacked = std::popcount(mask);
    if (rule.operands() > 5 && stacked > 1 && stacked + 1 < static_cast<int>(rule.operands()))
      continue;
    for (std::int64_t axis = 0; axis < 4; ++axis)
      ASSERT_EQ(rule.Compare(mask, axis), "") << "stacked operands " << mask << ", axis " << axis;
  }
  EXPECT_EQ(rule.looped(), about.loops);
}

// Where all operands are shared, PyTorch's operator itself is called under autocast: types and
// numbers of the rules must be its own, whatever operators they are made of.
class RuleAutocastTest : public RuleTest {};

TEST_P(RuleAutocastTest, TypesAreThoseOfTheOperator) {
  const RuleCase about = Cases()[GetParam()];
  SCOPED_TRACE(about.op);
  OneRule rule(about, true);
  ASSERT_EQ(rule.error(), "");
  const unsigned all = (1u << rule.operands()) - 1;
  for (unsigned mask = 1; mask <= all; ++mask) {
    if (mask != all && std::popcount(mask) > 1) continue;
    ASSERT_EQ(rule.Compare(mask, 0), "") << "stacked operands " << mask;
  }
}

std::string NameOfCase(const testing::TestParamInfo<std::size_t>& each) {
  std::string name = Cases()[each.param].op + "_" + std::to_string(each.param);
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Operators, RuleTest, testing::Range(std::size_t{0}, Cases().size()),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(Operators, RuleAutocastTest,
                         testing::Range(std::size_t{0}, Cases().size()), NameOfCase);

}  // namespace
}  // namespace sluice::train
