#include "model/shrink/widths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/zoo/builder.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> FormulasOf(const BuiltModel& model, const Widths& widths,
                                    std::string_view name) {
  std::vector<std::string> formulas;
  for (const Parameter& parameter : model.graph.parameters) {
    if (parameter.name != name) continue;
    for (const Dim dim : widths.inference().shape(parameter.value))
      formulas.push_back(widths.Formula(dim));
  }
  return formulas;
}

TEST(WidthsTest, InputsAndOutputsAreFixedTheRestIsWidth) {
  Builder b;
  ValueId x = b.Input("x", {784});
  x = b.Relu(b.Linear("first", x, 784, 64));
  x = b.Relu(b.Linear("second", x, 64, 32));
  x = b.Linear("third", x, 32, 10);
  const BuiltModel model = *std::move(b).Finish({x});
  const Widths widths = *Widths::Find(model.graph);
  EXPECT_THAT(FormulasOf(model, widths, "first.weight"), ElementsAre("w1", "784"));
  EXPECT_THAT(FormulasOf(model, widths, "second.weight"), ElementsAre("w2", "w1"));
  EXPECT_THAT(FormulasOf(model, widths, "third.weight"), ElementsAre("10", "w2"));
  EXPECT_THAT(FormulasOf(model, widths, "second.bias"), ElementsAre("w2"));
  ASSERT_EQ(widths.classes().size(), 2U);
  EXPECT_EQ(widths.classes()[0].first.parameter, "first.weight");
  EXPECT_EQ(widths.CountIn(model.graph.parameters[2]), 2);
}

TEST(WidthsTest, AResidualStreamIsOneWidth) {
  Builder b;
  const ValueId input = b.Input("x", {3});
  const ValueId x = b.Linear("in", input, 3, 16);
  const ValueId y = b.Linear("down", b.Relu(b.Linear("up", x, 16, 64)), 64, 16);
  const ValueId out = b.Linear("out", b.Add(x, y), 16, 2);
  const BuiltModel model = *std::move(b).Finish({out});
  const Widths widths = *Widths::Find(model.graph);
  EXPECT_THAT(FormulasOf(model, widths, "down.weight"), ElementsAre("w1", "w2"));
}

TEST(WidthsTest, SizesThatCoincideStayApart) {
  // Tokens, heads, size of a head and batch: all 2 or 16.
  Builder b;
  const ValueId ids = b.Input("ids", {16}, DType::kInt64);
  const IntegerOrValue batch = BatchOf(b, ids);
  const ValueId x = b.Embedding("table", ids, {.rows = 16, .width = 32});
  const auto heads = [&](ValueId value) {
    return b.Transpose(b.View(value, {batch, Known(16), Known(2), Known(16)}), 1, 2);
  };
  const ValueId query = heads(b.Linear("query", x, 32, 32));
  const ValueId key = heads(b.Linear("key", x, 32, 32));
  const ValueId value = heads(b.Linear("value", x, 32, 32));
  ValueId y = b.Transpose(b.Attention(query, key, value, true, 0), 1, 2);
  y = b.View(y, {batch, Known(16), Known(32)});
  y = b.Linear("out", b.Linear("mix", y, 32, 32), 32, 16);
  const BuiltModel model = *std::move(b).Finish({y});
  const Widths widths = *Widths::Find(model.graph);
  EXPECT_THAT(FormulasOf(model, widths, "table.weight"), ElementsAre("16", "w1"));
  EXPECT_THAT(FormulasOf(model, widths, "query.weight"), ElementsAre("w2*w3", "w1"));
  EXPECT_THAT(FormulasOf(model, widths, "key.weight"), ElementsAre("w2*w3", "w1"));
  EXPECT_THAT(FormulasOf(model, widths, "value.weight"), ElementsAre("w2*w4", "w1"));
  EXPECT_THAT(FormulasOf(model, widths, "out.weight"), ElementsAre("16", "w5"));
  EXPECT_EQ(widths.classes()[1].rank, Dims::Rank::kWidth) << "heads";
  EXPECT_EQ(widths.classes()[2].rank, Dims::Rank::kInner) << "their size";
}

TEST(WidthsTest, AConcatenationWithSomethingFixedIsAffine) {
  Builder b;
  const ValueId input = b.Input("x", {2});
  ValueId x = b.Cat({b.Linear("in", input, 2, 8), input}, -1);
  x = b.Linear("out", b.Linear("mid", x, 10, 8), 8, 1);
  const BuiltModel model = *std::move(b).Finish({x});
  const Widths widths = *Widths::Find(model.graph);
  EXPECT_THAT(FormulasOf(model, widths, "mid.weight"), ElementsAre("w2", "w1 + 2"));
}

TEST(WidthsTest, PinsAndFrozenValuesAreNoWidths) {
  Builder b;
  ValueId x = b.Linear("in", b.Input("x", {3}), 3, 16);
  x = b.Add(x, b.Buffer("table", {16}, {.kind = Law::Kind::kNormal, .mean = 0, .deviation = 1}));
  x = b.Linear("out", b.Linear("mid", x, 16, 12), 12, 2);
  const BuiltModel model = *std::move(b).Finish({x});
  std::vector<Frozen> frozen(model.graph.parameters.size());
  frozen[2] = Frozen::kAll;
  const Widths with_table = *Widths::Find(model.graph, {.frozen = frozen, .pins = {}});
  EXPECT_THAT(FormulasOf(model, with_table, "mid.weight"), ElementsAre("w1", "16"));
  const Dim dim = with_table.inference().shape(model.graph.parameters[0].value)[0];
  EXPECT_THAT(with_table.dims().ReasonOf(with_table.dims().Look(dim).dim), HasSubstr("'table'"));
  ASSERT_EQ(with_table.notes().size(), 1U);
  EXPECT_EQ(with_table.notes()[0],
            "in.weight, dimension 0: 16 stays: the values of 'table' were made for this size");
  frozen[2] = Frozen::kAllButLast;
  const Widths remade = *Widths::Find(model.graph, {.frozen = frozen, .pins = {}});
  EXPECT_THAT(FormulasOf(model, remade, "mid.weight"), ElementsAre("w2", "w1"));
  const Widths pinned =
      *Widths::Find(model.graph, {.frozen = {}, .pins = {{.parameter = "mid.weight", .axis = 0}}});
  EXPECT_THAT(FormulasOf(model, pinned, "mid.weight"), ElementsAre("12", "w1"));
  const auto wrong =
      Widths::Find(model.graph, {.frozen = {}, .pins = {{.parameter = "mid.wieght", .axis = 0}}});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("did you mean 'mid.weight'?"));
}

TEST(WidthsTest, AnOperatorWithoutARuleIsNamed) {
  Builder b;
  const ValueId x = b.Call("aten.cdist.default", {Arg("self", b.Input("x", {3}))});
  const auto model = std::move(b).Finish({x});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("aten.cdist.default"));
  EXPECT_THAT(model.error().message, HasSubstr("there is no rule for this operator"));
}

TEST(WidthsTest, ShapesThatDoNotAgreeAreTold) {
  Builder b;
  const ValueId x = b.Linear("in", b.Input("x", {3}), 4, 16);
  const auto model = std::move(b).Finish({x});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("sizes 3 and 4 should be the same"));
}

TEST(WidthsTest, WhatTheProgramSaysIsCompared) {
  Builder b;
  const ValueId x = b.Linear("in", b.Input("x", {3}), 3, 16);
  BuiltModel model = *std::move(b).Finish({x});
  EXPECT_TRUE(CheckShapes(model.graph));
  model.graph.values[Index(x)].sizes[1].number = 17;
  const Status wrong = CheckShapes(model.graph);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("[2, 16], the program says [2, 17]"));
}

}  // namespace
}  // namespace sluice::model
