#include "recipe/recipe.h"

#include <gmock/gmock.h>

#include "recipe/test_recipe.h"

namespace sluice::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string MessageOf(const Recipe& recipe, std::string_view params = "{}") {
  const auto trial = Resolve(recipe, params);
  if (trial) return "";
  EXPECT_EQ(trial.error().code, ErrorCode::kInvalidArgument);
  return trial.error().message;
}

TEST(ResolveTest, WhatIsNotSaidHasItsDefault) {
  const auto trial = Resolve(RecipeWith({}), "{}");
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_EQ(trial->network, "zoo:mlp");
  EXPECT_EQ(trial->loss, "cross_entropy");
  EXPECT_EQ(trial->batch, 32);
  EXPECT_EQ(trial->optimizer.lr, 0.1);
  EXPECT_EQ(trial->optimizer.momentum, 0);
  EXPECT_EQ(trial->rule, "mup");
  EXPECT_FALSE(trial->keep_readout);
  EXPECT_FALSE(trial->optimizer.clip_norm);
  EXPECT_FALSE(trial->dropout);
  EXPECT_EQ(trial->precision, Precision::kFloat32);
  EXPECT_EQ(trial->schedule.kind, Schedule::Kind::kConstant);
}

TEST(ResolveTest, ParametersTakeThePlaceOfTheirWords) {
  const Recipe recipe = RecipeWith({{"model.network", "zoo:mlp,width={width}"},
                                    {"train.optimizer", "{optimizer}"},
                                    {"train.lr", "{lr}"},
                                    {"train.betas.0", "0.8"},
                                    {"train.betas.1", "{beta2}"},
                                    {"train.precision", "bf16"},
                                    {"train.clip_norm", "{clip}"},
                                    {"train.dropout.layers.0", "{drop}"},
                                    {"model.readout", "keep"},
                                    {"train.evaluate", "as_trained"}});
  const auto trial =
      Resolve(recipe, R"({"width":64,"optimizer":"adamw","lr":0.003,"beta2":0.95,"clip":1,)"
                      R"("drop":0.25})");
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_EQ(trial->network, "zoo:mlp,width=64");
  EXPECT_EQ(trial->optimizer.kind, OptimizerKind::kAdamW);
  EXPECT_EQ(trial->optimizer.lr, 0.003);
  EXPECT_EQ(trial->optimizer.beta1, 0.8);
  EXPECT_EQ(trial->optimizer.beta2, 0.95);
  EXPECT_EQ(trial->optimizer.clip_norm, 1);
  EXPECT_EQ(trial->dropout_of.at("layers.0"), 0.25);
  EXPECT_EQ(trial->precision, Precision::kBfloat16);
  EXPECT_TRUE(trial->keep_readout);
  EXPECT_TRUE(trial->evaluate_as_trained);
}

TEST(ResolveTest, AParameterThatIsNotActiveLeavesTheDefault) {
  const Recipe recipe = RecipeWith({{"train.optimizer", "{optimizer}"},
                                    {"train.momentum", "{momentum}"},
                                    {"train.clip_norm", "{clip}"}});
  const auto adam = Resolve(recipe, R"({"optimizer":"adam"})");
  ASSERT_TRUE(adam) << adam.error().message;
  EXPECT_FALSE(adam->optimizer.clip_norm);
  const auto sgd = Resolve(recipe, R"({"optimizer":"sgd","momentum":0.9,"clip":2})");
  ASSERT_TRUE(sgd) << sgd.error().message;
  EXPECT_EQ(sgd->optimizer.momentum, 0.9);
  EXPECT_EQ(MessageOf(RecipeWith({{"train.lr", "{lr}"}})),
            "train.lr: expected a value in every trial, found none (from '{lr}'), since a "
            "parameter is not active");
}

TEST(ResolveTest, AMistakeNamesTheFieldTheParameterAndTheValue) {
  EXPECT_EQ(MessageOf(RecipeWith({{"train.lr", "{lr}"}}), R"({"lr":"abc"})"),
            "train.lr: expected a number above 0, found 'abc' (from '{lr}')");
  EXPECT_EQ(MessageOf(RecipeWith({{"train.lr", "0"}})),
            "train.lr: expected a number above 0, found '0'");
  EXPECT_EQ(MessageOf(RecipeWith({{"train.batch", "{b}"}}), R"({"b":32.5})"),
            "train.batch: expected a whole number from 1 to 16777216, found '32.5' (from '{b}')");
  EXPECT_EQ(MessageOf(RecipeWith({{"train.optimizer", "adamax"}})),
            "train.optimizer: expected one of sgd, adam, adamw, found 'adamax' (did you mean "
            "'adam'?)");
  EXPECT_EQ(MessageOf(RecipeWith({{"train.dropout", "1"}})),
            "train.dropout: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(MessageOf(RecipeWith({{"train.momentum", "inf"}})),
            "train.momentum: expected a number from 0 to below 1, found 'inf'");
}

TEST(ResolveTest, AnOptimizerTakesItsOwnHyperparametersAlone) {
  EXPECT_EQ(MessageOf(RecipeWith({{"train.optimizer", "adam"}, {"train.momentum", "0.9"}})),
            "train.momentum: expected nothing with the optimizer adam, which has no 'momentum'; "
            "remove the key, or give it a parameter that is active only when the optimizer is sgd");
  EXPECT_THAT(MessageOf(RecipeWith({{"train.betas.0", "0.9"}, {"train.betas.1", "0.99"}})),
              StartsWith("train.betas: expected nothing with the optimizer sgd"));
  EXPECT_THAT(MessageOf(RecipeWith({{"train.eps", "1e-8"}})), StartsWith("train.eps: expected no"));
  EXPECT_THAT(MessageOf(RecipeWith({{"train.optimizer", "adamw"}, {"train.nesterov", "false"}})),
              StartsWith("train.nesterov: expected nothing"));
  EXPECT_EQ(MessageOf(RecipeWith({{"train.nesterov", "true"}})),
            "train.nesterov: expected a momentum above 0 and no dampening with nesterov, found "
            "momentum 0 and dampening 0");
  EXPECT_EQ(MessageOf(RecipeWith({{"train.optimizer", "adam"}, {"train.betas.0", "0.9"}})),
            "train.betas: expected two numbers, as in [0.9, 0.999], found 1");
}

TEST(ResolveTest, OtherValuesThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(MessageOf(RecipeWith({{"model.loss", "mse"}, {"train.label_smoothing", "0.1"}})),
              StartsWith("train.label_smoothing: expected nothing with the loss 'mse'"));
  EXPECT_THAT(MessageOf(RecipeWith({{"train.init", "archive"}})),
              StartsWith("train.init: expected 'drawn' with a network of the zoo"));
  EXPECT_THAT(MessageOf(RecipeWith(
                  {{"model.network", "net.pt2"}, {"model.scale", "2"}, {"train.init", "archive"}})),
              HasSubstr("2 times narrower"));
}

TEST(ResolveTest, SchedulesHaveTheirKeys) {
  Recipe cosine = RecipeWith({{"train.schedule.name", "cosine"}, {"train.schedule.warmup", "2"}});
  EXPECT_THAT(MessageOf(cosine), StartsWith("train.schedule.over: expected how long the schedule"));
  cosine.length = 20;
  EXPECT_EQ(Resolve(cosine, "{}")->schedule.over, 18) << "it ends with the budget";
  cosine.settings["train.schedule.over"] = "{over}";
  EXPECT_EQ(Resolve(cosine, R"({"over":5})")->schedule.over, 5);
  EXPECT_EQ(Resolve(cosine, "{}")->schedule.over, 18);
  cosine.settings["train.schedule.warmup"] = "20";
  EXPECT_EQ(MessageOf(cosine),
            "train.schedule.warmup: expected less than the budget, 20 epochs, found 20");

  const auto steps = Resolve(RecipeWith({{"train.schedule.name", "multi_step"},
                                         {"train.schedule.at.0", "3"},
                                         {"train.schedule.at.1", "7"},
                                         {"train.schedule.at.10", "20"},
                                         {"train.schedule.at.9", "9"}}),
                             "{}");
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_THAT(steps->schedule.at, ElementsAre(3, 7, 9, 20));
  EXPECT_EQ(MessageOf(RecipeWith({{"train.schedule.name", "multi_step"},
                                  {"train.schedule.at.0", "3"},
                                  {"train.schedule.at.1", "1"}})),
            "train.schedule.at: expected numbers in ascending order, found [3, 1]");
  EXPECT_THAT(MessageOf(RecipeWith({{"train.schedule.name", "step"}})),
              StartsWith("train.schedule.every: expected after how many"));
  EXPECT_THAT(
      MessageOf(RecipeWith({{"train.schedule.name", "cosine"}, {"train.schedule.gamma", "0.5"}})),
      StartsWith("train.schedule.gamma: expected nothing with the schedule cosine"));

  Recipe cycle = RecipeWith({{"train.schedule.name", "one_cycle"}});
  cycle.length = 10;
  EXPECT_EQ(Resolve(cycle, "{}")->schedule.last, 1e-4) << "as PyTorch";
}

// A study may draw the schedule, and when it steps only for those that do.
TEST(ResolveTest, ListsOfParametersThatAreNotActiveAreLeftOut) {
  Recipe mixed = RecipeWith({{"train.schedule.name", "{schedule}"},
                             {"train.schedule.at.0", "{first}"},
                             {"train.schedule.at.1", "{second}"}});
  EXPECT_THAT(CheckRecipe(mixed), IsEmpty());
  const auto steps = Resolve(mixed, R"({"schedule":"multi_step","first":3,"second":7})");
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_THAT(steps->schedule.at, ElementsAre(3, 7));
  const auto constant = Resolve(mixed, R"({"schedule":"constant"})");
  ASSERT_TRUE(constant) << constant.error().message;
  EXPECT_THAT(constant->schedule.at, IsEmpty());
  EXPECT_EQ(MessageOf(mixed, R"({"schedule":"multi_step"})"),
            "train.schedule.at: expected when the rate falls, found nothing; add 'at: [10, 20]' "
            "('{first}' has no value here)");
  EXPECT_THAT(MessageOf(mixed, R"({"schedule":"multi_step","second":7})"),
              StartsWith("train.schedule.at.0: expected a value in every trial, found none"));
  EXPECT_THAT(MessageOf(mixed, R"({"schedule":"constant","first":3})"),
              HasSubstr("train.schedule.at: expected nothing with the schedule constant"));

  Recipe betas = RecipeWith(
      {{"train.optimizer", "{optimizer}"}, {"train.betas.0", "{b1}"}, {"train.betas.1", "0.99"}});
  const auto adam = Resolve(betas, R"({"optimizer":"adam","b1":0.8})");
  ASSERT_TRUE(adam) << adam.error().message;
  EXPECT_EQ(adam->optimizer.beta1, 0.8);
  betas.settings["train.betas.1"] = "{b2}";
  EXPECT_TRUE(Resolve(betas, R"({"optimizer":"sgd"})"));
}

TEST(ResolveTest, ParametersAreAnObjectOfPlainValues) {
  EXPECT_THAT(MessageOf(RecipeWith({}), "[1]"), StartsWith("parameters: expected a JSON object"));
  EXPECT_THAT(MessageOf(RecipeWith({}), R"({"lr":[1]})"),
              StartsWith("parameters: expected texts, numbers and booleans, found [1] for 'lr'"));
}

TEST(CheckRecipeTest, EverythingThatNeedsNoParameterIsChecked) {
  EXPECT_THAT(CheckRecipe(RecipeWith({{"train.lr", "{lr}"}, {"train.momentum", "{m}"}})),
              IsEmpty());
  const std::vector<Mistake> mistakes =
      CheckRecipe(RecipeWith({{"train.optimizer", "adam"},
                              {"train.momentum", "0.9"},
                              {"train.lr", "-1"},
                              {"train.schedule.name", "{schedule}"},
                              {"train.schedule.over", "3"}}));
  ASSERT_EQ(mistakes.size(), 2u);
  EXPECT_EQ(mistakes[0].path, "train.lr");
  EXPECT_EQ(mistakes[0].message, "expected a number above 0, found '-1'");
  EXPECT_EQ(mistakes[1].path, "train.momentum");
  Recipe recipe = RecipeWith({});
  recipe.settings.erase("train.batch");
  ASSERT_EQ(CheckRecipe(recipe).size(), 1u);
  EXPECT_EQ(CheckRecipe(recipe)[0].message, "expected a value, found nothing; add the key");
}

TEST(ReachTest, EachParameterReachesTheFieldsThatNameIt) {
  const auto reaches = ReachOf(RecipeWith({{"train.lr", "{lr}"},
                                           {"train.eps", "{{lr}}"},
                                           {"model.network", "zoo:mlp,width={w},depth={w}"},
                                           {"train.momentum", "{m}"},
                                           {"train.dampening", "{m}"},
                                           {"train.clip_norm", "{clip}"},
                                           {"train.batch", "{batch}"}}));
  EXPECT_EQ(reaches.size(), 5u);
  EXPECT_THAT(reaches.at("lr").paths, ElementsAre("train.lr"));
  EXPECT_FALSE(reaches.at("lr").is_of_shape);
  EXPECT_THAT(reaches.at("w").paths, ElementsAre("model.network"));
  EXPECT_TRUE(reaches.at("w").is_of_shape);
  EXPECT_TRUE(reaches.at("batch").is_of_shape);
  EXPECT_THAT(reaches.at("m").paths, ElementsAre("train.dampening", "train.momentum"));
  EXPECT_FALSE(reaches.at("clip").is_of_shape);
  EXPECT_TRUE(reaches.at("clip").is_of_shape_by_presence);
}

TEST(ShapeKeyTest, TrialsOfOneShapeHaveOneKey) {
  const Recipe recipe = RecipeWith({{"train.lr", "{lr}"},
                                    {"train.batch", "{b}"},
                                    {"train.clip_norm", "{clip}"},
                                    {"train.weight_decay", "{lr}"}});
  const auto key = [&](std::string_view params) { return Resolve(recipe, params)->ShapeKey(); };
  const std::string plain = key(R"({"lr":0.1,"b":32})");
  EXPECT_EQ(plain, key(R"({"lr":0.2,"b":32})"));
  EXPECT_NE(plain, key(R"({"lr":0.1,"b":64})"));
  const std::string clipped = key(R"({"lr":0.1,"b":32,"clip":1})");
  EXPECT_NE(plain, clipped);
  EXPECT_EQ(clipped, key(R"({"lr":0.1,"b":32,"clip":2})"));
}

TEST(SameFilesTest, AnotherFileIsNamed) {
  const Recorded recorded{.archives = {{"net.pt2", 10, 1}, {"wide.pt2", 20, 2}},
                          .files = {{"x.npy", 5, 2}, {"y.npy", 6, 3}},
                          .data_hash = 4};
  std::vector<data::FileRecord> files = recorded.files;
  files[0].path = "moved/x.npy";
  EXPECT_TRUE(CheckSameData(recorded, files, 4)) << "where a file lies does not count";
  files[1].hash = 9;
  const Status other = CheckSameData(recorded, files, 4);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(other.error().message,
              StartsWith("y.npy: expected the file that the study was made with, 6 bytes with the "
                         "hash 0000000000000003, found 6 bytes with the hash 0000000000000009"));
  EXPECT_THAT(CheckSameData(recorded, recorded.files, 5).error().message, StartsWith("data: "));
  files = {recorded.files[0]};
  EXPECT_THAT(CheckSameData(recorded, files, 4).error().message,
              StartsWith("y.npy: expected the 2 files"));

  EXPECT_TRUE(CheckSameArchive(recorded, {"elsewhere.pt2", 20, 2}));
  EXPECT_THAT(CheckSameArchive(recorded, {"net.pt2", 11, 1}).error().message,
              StartsWith("net.pt2: expected the file that the study was made with, 10 bytes"));
  EXPECT_THAT(CheckSameArchive(Recorded{}, {"net.pt2", 11, 1}).error().message,
              StartsWith("net.pt2: expected a network of the zoo"));
}

}  // namespace
}  // namespace sluice::recipe
