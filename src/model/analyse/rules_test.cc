#include "model/analyse/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/shrink/widths.h"
#include "model/zoo/builder.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Builds a network around `write`, and returns the formulas of the shape of what `write` returns.
// Before `write`, the network maps an input of [batch, 6] to a width of 24. After `write`, it sums
// up the result. The batch is 1009.
std::vector<std::string> Formulas(const std::function<ValueId(Builder&, ValueId)>& write) {
  Builder b;
  const ValueId x = b.Linear("in", b.Input("x", {6}), 6, 24);
  const ValueId y = write(b, x);
  const ValueId sum = b.Call("aten.sum.default", {Arg("self", y)});
  auto model = std::move(b).Finish({sum});
  if (!model) return {model.error().message};
  const Widths widths = *Widths::Find(model->graph);
  std::vector<std::string> formulas;
  for (const Dim dim : widths.inference().shape(y)) formulas.push_back(widths.Formula(dim));
  return formulas;
}

ValueId View(Builder& b, ValueId x, const std::vector<std::int64_t>& sizes) {
  std::vector<IntegerOrValue> list = {BatchOf(b, x)};
  for (const std::int64_t size : sizes) list.push_back(Known(size));
  return b.View(x, list);
}

TEST(RulesTest, EveryOperatorHasOneRule) {
  EXPECT_EQ(FindRule("relu"), &LikeFirst);
  EXPECT_EQ(FindRule("add"), &Together);
  EXPECT_EQ(FindRule("cdist"), nullptr);
  EXPECT_EQ(FindRule(""), nullptr);
}

TEST(RulesTest, ReshapesCutAndJoin) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) { return View(b, x, {4, 6}); }),
              ElementsAre("1009", "w1", "w2"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) { return b.Flatten(View(b, x, {4, -1}), 1); }),
              ElementsAre("1009", "w1*w2"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.unflatten.int", {Arg("self", x), Arg("dim", std::int64_t{-1}),
                                                     Ints("sizes", {2, -1})});
              }),
              ElementsAre("1009", "w1", "w2"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) { return View(b, x, {5, 5}); }),
              ElementsAre(HasSubstr("the sizes do not match the number of elements")));
}

TEST(RulesTest, NothingIsFollowedThroughAShapeWithoutElements) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                const ValueId none =
                    b.Call("aten.slice.Tensor",
                           {Arg("self", View(b, x, {4, 6})), Arg("dim", std::int64_t{1}),
                            Arg("start", std::int64_t{0}), Arg("end", std::int64_t{0})});
                return b.Flatten(none, 1);
              }),
              ElementsAre("1009", "0"));
}

TEST(RulesTest, PartsOfEqualSizeAreAsManyAsTheyAre) {
  for (const bool split : {false, true}) {
    EXPECT_THAT(Formulas([&](Builder& b, ValueId x) {
                  return split ? b.CallForMany("aten.split.Tensor",
                                               {Arg("self", x), Arg("split_size", std::int64_t{8}),
                                                Arg("dim", std::int64_t{1})},
                                               3, true)[2]
                               : b.CallForMany("aten.chunk.default",
                                               {Arg("self", x), Arg("chunks", std::int64_t{3}),
                                                Arg("dim", std::int64_t{1})},
                                               3, true)[0];
                }),
                ElementsAre("1009", "w1"));
  }
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.CallForMany(
                    "aten.chunk.default",
                    {Arg("self", x), Arg("chunks", std::int64_t{5}), Arg("dim", std::int64_t{1})},
                    5, true)[4];
              }),
              ElementsAre("1009", "4"))
      << "parts that differ are fixed";
}

TEST(RulesTest, SlicesAreTermsOfASum) {
  const auto slice = [](std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
    return Formulas([=](Builder& b, ValueId x) {
      return b.Call("aten.slice.Tensor", {Arg("self", x), Arg("dim", std::int64_t{1}),
                                          Arg("start", begin), Arg("end", end), Arg("step", step)});
    });
  };
  EXPECT_THAT(slice(0, INT64_MAX), ElementsAre("1009", "w1"));
  EXPECT_THAT(slice(0, 8), ElementsAre("1009", "w1"));
  EXPECT_THAT(slice(8, 12), ElementsAre("1009", "w2"));
  EXPECT_THAT(slice(-4, INT64_MAX), ElementsAre("1009", "w2"));
  EXPECT_THAT(slice(0, INT64_MAX, 2), ElementsAre("1009", "w1"));
  EXPECT_THAT(slice(1, 9, 3), ElementsAre("1009", "3")) << "some are picked";
  EXPECT_THAT(slice(0, INT64_MAX, 0), ElementsAre(HasSubstr("a step of at least 1")));
}

TEST(RulesTest, ConcatenationsAndPaddingsAreSums) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) { return b.Cat({x, x}, 1); }),
              ElementsAre("1009", "2*w1"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.pad.default", {Arg("self", x), Ints("pad", {0, 24})});
              }),
              ElementsAre("1009", "w1 + 24"));
}

TEST(RulesTest, WhatIsPickedByIndexIsFixed) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.select.int",
                              {Arg("self", View(b, x, {3, 8})), Arg("dim", std::int64_t{1}),
                               Arg("index", std::int64_t{0})});
              }),
              ElementsAre("1009", "w1"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.CallForMany("aten.unbind.int",
                                     {Arg("self", View(b, x, {3, 8})), Arg("dim", std::int64_t{1})},
                                     3, true)[1];
              }),
              ElementsAre("1009", "w1"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.softmax.int", {Arg("self", x), Arg("dim", std::int64_t{1})});
              }),
              ElementsAre("1009", "24"));
}

TEST(RulesTest, RepeatsAreProducts) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call(
                    "aten.repeat_interleave.self_int",
                    {Arg("self", x), Arg("repeats", std::int64_t{2}), Arg("dim", std::int64_t{1})});
              }),
              ElementsAre("1009", "w1*2"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.repeat.default", {Arg("self", x), Ints("repeats", {1, 3})});
              }),
              ElementsAre("1009", "3*w1"));
}

TEST(RulesTest, AnEinsumJoinsWhatHasOneLetter) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.einsum.default",
                              {{.name = "equation", .value = std::string("bi,io->bo")},
                               Tensors("tensors", {x, b.Weight("w", {24, 10}, 24)})});
              }),
              ElementsAre("1009", "w2"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.einsum.default",
                              {{.name = "equation", .value = std::string("...i,...j->...ij")},
                               Tensors("tensors", {x, x})});
              }),
              ElementsAre("1009", "w1", "w1"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.einsum.default",
                              {{.name = "equation", .value = std::string("bij->b")},
                               Tensors("tensors", {x})});
              }),
              ElementsAre(HasSubstr("the equation does not match the dimensions")));
}

TEST(RulesTest, ReductionsTakeDimensionsAway) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.mean.dim",
                              {Arg("self", x), Ints("dim", {-1}), Arg("keepdim", true)});
              }),
              ElementsAre("1009", "1"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                return b.Call("aten.amax.default",
                              {Arg("self", View(b, x, {3, 8})), Ints("dim", {1})});
              }),
              ElementsAre("1009", "w2"));
}

TEST(RulesTest, KernelsOfOneLeaveADimensionAsItIs) {
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                const ValueId image = View(b, b.Cat({x, x}, 1), {2, 24});
                const ValueId weight = b.Weight("conv", {5, 2, 1}, 2);
                return b.Call("aten.conv1d.default", {Arg("input", image), Arg("weight", weight)});
              }),
              ElementsAre("1009", "w2", "w1"));
  EXPECT_THAT(Formulas([](Builder& b, ValueId x) {
                const ValueId weight = b.Weight("conv", {5, 1, 3}, 3);
                return b.Call("aten.conv1d.default", {Arg("input", View(b, x, {1, 24})),
                                                      Arg("weight", weight),
                                                      {.name = "bias", .value = std::monostate()},
                                                      Ints("stride", {2})});
              }),
              ElementsAre("1009", "w1", "11"));
}

TEST(RulesTest, GatesOfRecurrentCellsAreFixed) {
  Builder b;
  const ValueId x = b.Input("x", {7, 6});
  const IntegerOrValue batch = BatchOf(b, x);
  const ValueId state = b.Call("aten.zeros.default", {Sizes("size", {Known(2), batch, Known(16)})});
  std::vector<ValueId> weights;
  for (const char* direction : {"", "_reverse"}) {
    weights.push_back(b.Weight(std::string("w_ih") + direction, {48, 6}, 6));
    weights.push_back(b.Weight(std::string("w_hh") + direction, {48, 16}, 16));
  }
  const auto outs = b.CallForMany(
      "aten.gru.input",
      {Arg("input", x), Arg("hx", state), Tensors("params", weights), Arg("has_biases", false),
       Arg("num_layers", std::int64_t{1}), Arg("dropout", 0.0), Arg("train", true),
       Arg("bidirectional", true), Arg("batch_first", true)},
      2, false);
  const ValueId y = b.Linear("out", outs[0], 32, 3);
  const auto model = std::move(b).Finish({y});
  ASSERT_TRUE(model) << model.error().message;
  const Widths widths = *Widths::Find(model->graph);
  const auto formula = [&](std::size_t parameter, std::size_t axis) {
    return widths.Formula(widths.inference().shape(model->graph.parameters[parameter].value)[axis]);
  };
  EXPECT_EQ(formula(0, 0), "3*w1");
  EXPECT_EQ(formula(1, 1), "w1");
  EXPECT_EQ(formula(4, 1), "2*w1") << "both directions";
}

// A program that no export would write.
TEST(RulesTest, StatesOfAnotherRankAreTold) {
  Builder b;
  const ValueId x = b.Input("x", {7, 6});
  const ValueId state = b.Call("aten.zeros.default", {Ints("size", {1, 2, 16})});
  const ValueId wrong = b.Call("aten.zeros.default", {Ints("size", {})});
  const std::vector<ValueId> weights = {b.Weight("ih", {64, 6}, 6), b.Weight("hh", {64, 16}, 16)};
  const auto outs =
      b.CallForMany("aten.lstm.input",
                    {Arg("input", x), Tensors("hx", {state, wrong}), Tensors("params", weights),
                     Arg("has_biases", false), Arg("batch_first", true)},
                    3, false);
  const auto model = std::move(b).Finish({outs[0]});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("expected a state for each sequence"));
}

}  // namespace
}  // namespace sluice::model
