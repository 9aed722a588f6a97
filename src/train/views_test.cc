#include "train/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/program.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::HasSubstr;
using Argument = GraphMaker::Given;

constexpr std::int64_t kMembers = 3;

Argument Sized(std::vector<std::int64_t> numbers) {
  std::vector<model::IntegerOrValue> list;
  for (const std::int64_t each : numbers) list.push_back({.number = each, .value = {}});
  return list;
}
Argument Whole(std::int64_t number) { return number; }

// A network that writes views, of an input x [2, 6], a parameter w [2, 6] and a buffer b [2, 6].
struct Written {
  GraphMaker maker;
  model::ValueId x = maker.Input();
  model::ValueId w = maker.Parameter("w");
  model::ValueId b = maker.Parameter("b", false);

  model::ValueId Call(const std::string& op, std::vector<Argument> given) {
    return maker.Call("aten." + op, given);
  }
  model::ValueId Row(model::ValueId of, std::int64_t row) {
    return Call("select.int", {of, Whole(0), Whole(row)});
  }
  model::ValueId Product() { return Call("mul.Tensor", {x, w}); }
};

// What PyTorch itself computes: each node as it is, in its order, for one trial.
std::vector<at::Tensor> AsPyTorchDoes(const model::Graph& graph,
                                      const std::vector<at::Tensor>& parameters,
                                      const at::Tensor& x) {
  std::map<std::size_t, at::Tensor> values = {{model::Index(graph.inputs[0]), x}};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    values[model::Index(graph.parameters[i].value)] = parameters[i];
  for (const model::Node& node : graph.nodes) {
    const std::size_t dot = node.op.rfind('.');
    std::string overload = node.op.substr(dot + 1);
    if (overload == "default") overload.clear();
    const auto op =
        c10::Dispatcher::singleton().findSchema({"aten::" + node.op.substr(5, dot - 5), overload});
    std::vector<c10::IValue> stack;
    for (std::size_t i = 0; i < op->schema().arguments().size(); ++i) {
      if (i >= node.arguments.size()) {
        stack.push_back(op->schema().arguments()[i].default_value().value());
        continue;
      }
      const model::ArgumentValue& value = node.arguments[i].value;
      const bool tensor = op->schema().arguments()[i].type()->kind() == c10::TypeKind::TensorType;
      if (const auto* id = std::get_if<model::ValueId>(&value))
        stack.emplace_back(values.at(model::Index(*id)));
      else if (const auto* whole = std::get_if<std::int64_t>(&value))
        stack.emplace_back(*whole);
      else if (const auto* real = std::get_if<double>(&value))
        stack.emplace_back(tensor ? c10::IValue(at::scalar_tensor(*real, at::kDouble))
                                  : c10::IValue(*real));
      else if (const auto* list = std::get_if<std::vector<model::IntegerOrValue>>(&value)) {
        c10::List<std::int64_t> numbers;
        for (const auto& each : *list) numbers.push_back(each.number);
        stack.emplace_back(numbers);
      } else {
        ADD_FAILURE() << "an argument that this does not pass on";
      }
    }
    op->callBoxed(&stack);
    const auto found = node.returns_list ? stack[0].toTensorVector() : std::vector<at::Tensor>();
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      values[model::Index(*node.outputs[i])] = node.returns_list ? found[i] : stack[i].toTensor();
  }
  std::vector<at::Tensor> outputs;
  for (const model::ValueId each : graph.outputs) outputs.push_back(values.at(model::Index(each)));
  return outputs;
}

// Three trials at once against PyTorch for each: outputs, gradients and the buffer.
void ExpectAsPyTorch(const model::Graph& graph) {
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const at::Tensor x = Numbers({2, 6}, 1);
  const at::Tensor weights = Numbers({kMembers, 2, 6}, 2).requires_grad_();
  const at::Tensor buffer = Numbers({kMembers, 2, 6}, 3);
  const bool stacked = program->stacked(1);
  const std::vector<at::Tensor> held = {weights, stacked ? buffer : buffer[0]};
  const std::vector<Value> inputs = {Shared(x)};
  const auto found = program->Run({.trials = kMembers, .parameters = held, .inputs = inputs});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->looped.empty());
  EXPECT_TRUE(at::equal(buffer, Numbers({kMembers, 2, 6}, 3))) << "what is handed in stays";
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const Value& each : found->outputs) sum = sum + At(each, 0, kMembers).square().sum();
  sum.backward();
  for (std::int64_t trial = 0; trial < kMembers; ++trial) {
    const at::Tensor w = weights[trial].detach().clone().requires_grad_();
    const at::Tensor b = held[1].dim() == 3 ? buffer[trial].clone() : buffer[0].clone();
    const auto expected = AsPyTorchDoes(graph, {w, b}, x.clone());
    at::Tensor alone = at::zeros({}, at::kDouble);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LT(Difference(OfTrial(found->outputs[i], trial), expected[i]), 1e-12)
          << "output " << i;
      alone = alone + expected[i].square().sum();
    }
    alone.backward();
    EXPECT_LT(Difference(weights.grad()[trial], w.grad()), 1e-12);
    for (const auto& [place, tensor] : found->written)
      EXPECT_LT(Difference(tensor[trial], b), 1e-12);
    if (found->written.empty()) {
      EXPECT_TRUE(at::equal(b, held[1].dim() == 3 ? buffer[trial] : buffer[0]));
    }
  }
}

TEST(ViewsTest, WhatIsWrittenToAViewIsInItsBaseAndInTheOtherViews) {
  Written net;
  const auto y = net.Product();
  const auto flat = net.Call("view.default", {y, Sized({-1})});
  const auto row = net.Row(y, 1);
  net.Call("relu_.default", {row});
  const auto other = net.Call("mul.Tensor", {flat, 2.0});
  ExpectAsPyTorch(net.maker.Finish({y, flat, row, other}));
}

TEST(ViewsTest, WhatIsWrittenToTheBaseIsInItsViews) {
  Written net;
  const auto y = net.Product();
  const auto flat = net.Call("view.default", {y, Sized({3, 4})});
  const auto part = net.Call("slice.Tensor", {flat, Whole(1), Whole(1), Whole(4), Whole(2)});
  net.Call("mul_.Tensor", {y, 3.0});
  ExpectAsPyTorch(net.maker.Finish({part}));
}

TEST(ViewsTest, WritesGoThroughViewsOfViews) {
  Written net;
  const auto y = net.Product();
  const auto turned = net.Call("transpose.int", {y, Whole(0), Whole(1)});
  const auto wide = net.Call("unsqueeze.default", {turned, Whole(0)});
  const auto part = net.Call("slice.Tensor", {wide, Whole(1), Whole(1), Whole(5), Whole(2)});
  const auto other = net.Row(y, 0);
  net.Call("add_.Tensor", {part, 1.5});
  net.Call("sigmoid_.default", {part});
  ExpectAsPyTorch(net.maker.Finish({y, turned, other}));
}

// PyTorch lets only those without a gradient be written.
TEST(ViewsTest, PartsOfOneListAreWrittenOneAfterAnother) {
  Written net;
  const auto y = net.Call("mul.Tensor", {net.x, 2.0});
  const auto parts = net.maker.CallMany("aten.split.Tensor", {y, Whole(2), Whole(1)}, 3, true);
  net.Call("tanh_.default", {parts[0]});
  net.Call("mul_.Tensor", {parts[2], parts[0]});
  net.Call("neg_.default", {parts[2]});
  ExpectAsPyTorch(net.maker.Finish({net.Call("mul.Tensor", {y, net.w}), parts[1], parts[2]}));
}

TEST(ViewsTest, RowsAreFilledWithWhatIsSharedAndWithWhatIsNot) {
  Written net;
  const auto zeros = net.Call("zeros_like.default", {net.x});
  net.Call("copy_.default", {net.Row(zeros, 0), net.Row(net.x, 1)});
  net.Call("copy_.default", {net.Row(zeros, 1), net.Row(net.Product(), 0)});
  net.Call("fill_.Scalar", {net.Call("select.int", {zeros, Whole(1), Whole(2)}), 7.0});
  ExpectAsPyTorch(net.maker.Finish({net.Call("mul.Tensor", {zeros, net.w})}));
}

TEST(ViewsTest, ABufferIsWrittenThroughItsViews) {
  Written net;
  const auto y = net.Product();
  net.Call("copy_.default", {net.Row(net.b, 0), net.Row(net.Call("detach.default", {y}), 1)});
  net.Call("mul_.Tensor", {net.Row(net.b, 1), 0.5});
  const model::Graph graph = net.maker.Finish({net.Call("add.Tensor", {y, net.b})});
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->stacked(1)) << "each trial has its own of what is written";
  ExpectAsPyTorch(graph);
}

// The first write goes nowhere else, because nothing else is read later; the second one does.
TEST(ViewsTest, AViewThatIsWrittenAloneIsABaseItself) {
  Written net;
  const auto y = net.Product();
  const auto row = net.Row(y, 1);
  net.Call("mul_.Tensor", {row, 3.0});
  const auto half = net.Call("slice.Tensor", {row, Whole(0), Whole(0), Whole(3)});
  net.Call("neg_.default", {half});
  ExpectAsPyTorch(net.maker.Finish({row, half}));
}

std::string RefusalOf(const model::Graph& graph) {
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  return program ? "" : program.error().message;
}

TEST(ViewsTest, WhatMayBeACopyIsNotWrittenThrough) {
  Written net;
  const auto y = net.Product();
  const auto flat = net.Call("reshape.default", {y, Sized({-1})});
  net.Call("relu_.default", {flat});
  EXPECT_THAT(RefusalOf(net.maker.Finish({y})),
              testing::AllOf(HasSubstr("(aten.relu_.default in 'part')"),
                             HasSubstr("which is read later as 'node_0_0'")));
}

TEST(ViewsTest, SizesOfWhatIsSeenElsewhereAreNotChangedInPlace) {
  Written net;
  const auto y = net.Product();
  const auto row = net.Row(y, 0);
  net.Call("unsqueeze_.default", {y, Whole(0)});
  EXPECT_THAT(RefusalOf(net.maker.Finish({row})), HasSubstr("in place"));
}

TEST(ViewsTest, ViewsOfTrainedParametersAreNotWritten) {
  Written net;
  net.Call("mul_.Tensor", {net.Row(net.w, 0), 2.0});
  EXPECT_THAT(RefusalOf(net.maker.Finish({net.w})), HasSubstr("'w', which is trained"));
}

TEST(ViewsTest, WhatIsDetachedIsNotWrittenThrough) {
  Written net;
  const auto y = net.Product();
  net.Call("mul_.Tensor", {net.Call("detach.default", {y}), 2.0});
  EXPECT_THAT(RefusalOf(net.maker.Finish({y})), HasSubstr("does not write through"));
}

}  // namespace
}  // namespace sluice::train
