#include "model/shrink/parametrisation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "model/zoo/builder.h"
#include "model/zoo/zoo.h"

namespace sluice::model {
namespace {

struct Made {
  BuiltModel model;
  Widths widths;
  Shrunken narrow;
  Parametrisation plan;

  const ParameterPlan& Of(std::string_view name) const {
    for (std::size_t p = 0; p < model.graph.parameters.size(); ++p)
      if (model.graph.parameters[p].name == name) return plan.parameters[p];
    ADD_FAILURE() << "no parameter " << name;
    return plan.parameters.front();
  }
};

Made Make(BuiltModel model, double scale, const ParametrisationOptions& options = {}) {
  Widths widths = *Widths::Find(model.graph);
  Shrunken narrow = *Shrink(model.graph, widths, {.scale = scale, .min_width = 1});
  Parametrisation plan = *Parametrise(model.graph, widths, narrow, model.laws, options);
  return {std::move(model), std::move(widths), std::move(narrow), std::move(plan)};
}

Made Make(std::string_view network, double scale, const ParametrisationOptions& options = {}) {
  return Make(*BuildFromZoo(network), scale, options);
}

TEST(ParametrisationTest, EachKindHasItsFactors) {
  const Made made = Make("mlp,hidden=512", 8);
  const ParameterPlan& hidden = made.Of("layers.1.weight");
  EXPECT_EQ(hidden.kind, ParameterKind::kHidden);
  EXPECT_DOUBLE_EQ(hidden.law.deviation, 1 / std::sqrt(64.0));
  EXPECT_EQ(hidden.sgd_lr, 1);
  EXPECT_EQ(hidden.adam_lr, 8);
  EXPECT_EQ(hidden.sgd_decay, 1);
  EXPECT_EQ(hidden.adamw_decay, 1 / 8.0);
  EXPECT_EQ(hidden.adam_eps, 8);
  for (const char* name : {"layers.0.weight", "layers.1.bias"}) {
    const ParameterPlan& input = made.Of(name);
    EXPECT_EQ(input.kind, ParameterKind::kInput) << name;
    EXPECT_EQ(input.sgd_lr, 1 / 8.0);
    EXPECT_EQ(input.adam_lr, 1);
    EXPECT_EQ(input.sgd_decay, 8);
    EXPECT_EQ(input.adamw_decay, 1);
    EXPECT_EQ(input.adam_eps, 8);
  }
  EXPECT_DOUBLE_EQ(made.Of("layers.0.weight").law.deviation, 1 / std::sqrt(784.0)) << "unchanged";
  const ParameterPlan& output = made.Of("head.weight");
  EXPECT_EQ(output.kind, ParameterKind::kOutput);
  EXPECT_TRUE(output.zeroed);
  EXPECT_EQ(output.sgd_lr, 1 / 8.0);
  EXPECT_EQ(output.adam_lr, 1);
  EXPECT_EQ(output.sgd_decay, 8);
  EXPECT_EQ(output.adam_eps, 8);
  const ParameterPlan& scalar = made.Of("head.bias");
  EXPECT_EQ(scalar.kind, ParameterKind::kScalar);
  EXPECT_EQ(scalar.sgd_lr, 1);
  EXPECT_EQ(scalar.adam_eps, 1);
  ASSERT_EQ(made.plan.multipliers.size(), 1U);
  EXPECT_EQ(made.plan.multipliers[0].factor, 8);
}

TEST(ParametrisationTest, RatiosAreThoseOfEachTensor) {
  // 512 becomes 64, and 100 becomes 13, so the two ratios differ.
  Builder b;
  ValueId x = b.Relu(b.Linear("in", b.Input("x", {3}), 3, 512));
  x = b.Linear("out", b.Relu(b.Linear("mid", x, 512, 100)), 100, 2);
  const Made made = Make(*std::move(b).Finish({x}), 8);
  const double out = 13 / 100.0;
  EXPECT_DOUBLE_EQ(made.Of("mid.weight").sgd_lr, out * 8);
  EXPECT_DOUBLE_EQ(made.Of("mid.weight").adam_lr, 8);
  EXPECT_DOUBLE_EQ(made.Of("mid.bias").sgd_lr, out);
  EXPECT_DOUBLE_EQ(made.plan.multipliers[0].factor, 100 / 13.0);
}

TEST(ParametrisationTest, UseDecidesWhatAParameterIs) {
  const Made gpt = Make("gpt,layers=1,vocab=100,tokens=16", 4);
  EXPECT_EQ(gpt.Of("transformer.h.0.attn.c_attn.weight").kind, ParameterKind::kHidden)
      << "[in, out]";
  EXPECT_EQ(gpt.Of("transformer.wte.weight").kind, ParameterKind::kInput)
      << "a table, although it is tied to a readout";
  EXPECT_FALSE(gpt.Of("transformer.wte.weight").zeroed);
  ASSERT_EQ(gpt.plan.multipliers.size(), 1U) << "the readout is multiplied nevertheless";
  EXPECT_EQ(gpt.plan.multipliers[0].why, "readout 'transformer.wte.weight'");
  const Made mobile = Make("mobilenetv3", 4);
  EXPECT_EQ(mobile.Of("features.13.block.1.0.weight").kind, ParameterKind::kInput) << "depthwise";
  EXPECT_EQ(mobile.Of("features.13.block.0.0.weight").kind, ParameterKind::kHidden);
  EXPECT_EQ(mobile.Of("features.13.block.0.1.weight").kind, ParameterKind::kInput) << "a gain";
  const Made generator = Make("dcgan-generator", 4);
  EXPECT_EQ(generator.Of("main.0.weight").kind, ParameterKind::kInput) << "[in, out, ...]";
  EXPECT_EQ(generator.Of("main.12.weight").kind, ParameterKind::kOutput);
  const Made lstm = Make("lstm-lm", 4);
  EXPECT_EQ(lstm.Of("rnn.weight_hh_l0").kind, ParameterKind::kHidden);
  EXPECT_EQ(lstm.Of("decoder.weight").kind, ParameterKind::kOutput);
}

TEST(ParametrisationTest, ReadoutsCanBeKept) {
  const Made made = Make("mlp", 8, {.keep_readout = true});
  EXPECT_FALSE(made.Of("head.weight").zeroed);
  EXPECT_GT(made.Of("head.weight").law.deviation, 0);
}

TEST(ParametrisationTest, OtherRules) {
  const Made standard = Make("mlp", 8, {.rule = "standard"});
  EXPECT_EQ(standard.Of("layers.1.weight").adam_lr, 1);
  EXPECT_FALSE(standard.Of("head.weight").zeroed);
  EXPECT_TRUE(standard.plan.multipliers.empty());
  const Made same = Make("mlp", 8, {.decay = "same"});
  EXPECT_EQ(same.Of("layers.1.weight").adamw_decay, 1);
  EXPECT_EQ(same.Of("layers.1.weight").adam_lr, 8);
  const BuiltModel model = *BuildFromZoo("mlp");
  const Widths widths = *Widths::Find(model.graph);
  const Shrunken narrow = *Shrink(model.graph, widths, {});
  const auto wrong = Parametrise(model.graph, widths, narrow, model.laws, {.rule = "mupp"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "--rule: expected one of mup, spectral, standard, found 'mupp' (did you mean 'mup'?)");
}

TEST(ParametrisationTest, ANarrowerHeadHasItsLogitsScaled) {
  const Made made = Make("gpt,layers=1,vocab=100,tokens=16,width=256,heads=2", 8);
  ASSERT_EQ(made.plan.multipliers.size(), 2U);
  const Multiplier& attention = made.plan.multipliers[1];
  EXPECT_EQ(attention.argument, "scale");
  EXPECT_DOUBLE_EQ(attention.factor, std::sqrt(128.0) / 32);
  const Graph graph = Multiplied(made.narrow.graph, made.plan.multipliers);
  int scaled = 0;
  for (const Node& node : graph.nodes) {
    const Argument* scale = Find(node, "scale");
    if (scale == nullptr) continue;
    EXPECT_DOUBLE_EQ(std::get<double>(scale->value), std::sqrt(128.0) / 32);
    ++scaled;
  }
  EXPECT_EQ(scaled, 1);
}

TEST(ParametrisationTest, AScaleThatWasGivenIsScaled) {
  BuiltModel model = *BuildFromZoo("gpt,layers=1,vocab=100,tokens=16,width=256,heads=2");
  for (Node& node : model.graph.nodes)
    if (node.op.starts_with("aten.scaled_dot_product_attention"))
      node.arguments.push_back({.name = "scale", .value = 0.5, .keyword = true});
  const Made made = Make(std::move(model), 8);
  EXPECT_EQ(made.plan.multipliers[1].argument, "scale");
  EXPECT_DOUBLE_EQ(made.plan.multipliers[1].factor, 0.5 * 128 / 32) << "the given scale is scaled";
}

TEST(ParametrisationTest, AnOperandOfTwoParametersIsMultipliedOnce) {
  Builder b;
  const ValueId x = b.Relu(b.Linear("in", b.Input("x", {3}), 3, 64));
  const ValueId weight =
      b.Cat({b.Weight("first", {2, 64}, 64), b.Weight("second", {5, 64}, 64)}, 0);
  const ValueId y = b.Call("aten.linear.default", {Arg("input", x), Arg("weight", weight)});
  const Made made = Make(*std::move(b).Finish({y}), 8);
  EXPECT_EQ(made.Of("second").kind, ParameterKind::kOutput);
  ASSERT_EQ(made.plan.multipliers.size(), 1U);
  EXPECT_EQ(made.plan.multipliers[0].factor, 8);
}

TEST(ParametrisationTest, WhatIsFollowedByOtherProductsIsNoReadout) {
  Builder b;
  const ValueId x = b.Relu(b.Linear("in", b.Input("x", {3}), 3, 64));
  const ValueId few = b.Linear("router", x, 64, 4);
  const ValueId y = b.Linear("out", b.Linear("experts", few, 4, 64), 64, 2);
  const Made made = Make(*std::move(b).Finish({y, few}), 4);
  EXPECT_EQ(made.Of("router.weight").kind, ParameterKind::kOutput);
  EXPECT_FALSE(made.Of("router.weight").zeroed);
  EXPECT_DOUBLE_EQ(made.Of("router.weight").law.deviation, 1 / std::sqrt(64.0) / 2)
      << "times 4, over a quarter of the terms, its output is as large as in the original";
  EXPECT_EQ(made.plan.multipliers[0].why, "output map 'router.weight'");
  EXPECT_EQ(made.plan.multipliers[1].why, "readout 'out.weight'");
}

TEST(ParametrisationTest, MultipliersBecomeOperators) {
  const Made made = Make("mlp", 8);
  const Graph graph = Multiplied(made.narrow.graph, made.plan.multipliers);
  ASSERT_EQ(graph.nodes.size(), made.narrow.graph.nodes.size() + 1);
  const Node& times = graph.nodes[graph.nodes.size() - 2];
  EXPECT_EQ(times.op, "aten.mul.Tensor");
  EXPECT_EQ(std::get<double>(times.arguments[1].value), 8);
  EXPECT_EQ(std::get<ValueId>(Find(graph.nodes.back(), "weight")->value), *times.outputs[0]);
  EXPECT_TRUE(Widths::Find(graph));
}

TEST(ParametrisationTest, AtScaleOneNothingIsRescaled) {
  for (const ZooEntry& entry : Zoo()) {
    const Made made = Make(entry.name, 1);
    EXPECT_TRUE(made.plan.multipliers.empty()) << entry.name;
    for (const ParameterPlan& plan : made.plan.parameters) {
      EXPECT_EQ(plan.sgd_lr, 1);
      EXPECT_EQ(plan.adam_lr, 1);
      EXPECT_EQ(plan.adam_eps, 1);
    }
  }
}

}  // namespace
}  // namespace sluice::model
