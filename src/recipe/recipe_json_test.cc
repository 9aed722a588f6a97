#include <gmock/gmock.h>

#include <limits>

#include "recipe/recipe.h"
#include "recipe/test_recipe.h"

namespace sluice::recipe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Recipe FullRecipe() {
  Recipe recipe = RecipeWith({{"train.lr", "{lr}"}, {"train.dropout.a.\"b\"", "0.5"}});
  recipe.data = {.kind = data::DataKind::kTokens,
                 .path = "data \xc3\xa9",
                 .train = {.inputs = {"x.npy", "x2.npy"}, .targets = {"y.npy", "y2.npy"}},
                 .validation = {.inputs = {"v.bin"}, .targets = {}},
                 .test = {},
                 .validation_fraction = 0.1,
                 .test_fraction = 0.25,
                 .split_seed = std::numeric_limits<std::uint64_t>::max(),
                 .classes = 12,
                 .window = 64,
                 .vocabulary = 50257,
                 .token_type = data::DType::kUint32,
                 .normalise = data::NormaliseBy::kGiven,
                 .mean = {0.1, 0.2},
                 .deviation = {1, 2},
                 .augmentation = {.crop_padding = 4, .flip = true}};
  recipe.seed = 17;
  recipe.unit = "step";
  recipe.length = 1000;
  recipe.recorded = Recorded{.archives = {{"net.pt2", 10, UINT64_MAX}},
                             .files = {{"x.npy", 5, 2}},
                             .data_hash = UINT64_MAX - 1};
  return recipe;
}

std::string Refusal(std::string_view json) {
  const auto recipe = RecipeFromJson(json);
  if (recipe) return "";
  EXPECT_EQ(recipe.error().code, ErrorCode::kInvalidArgument);
  return recipe.error().message;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RecipeJsonTest, ARecipeReadsBackAsItWas) {
  const Recipe recipe = FullRecipe();
  const auto again = RecipeFromJson(ToJson(recipe));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), ToJson(recipe));
  EXPECT_EQ(again->settings, recipe.settings);
  EXPECT_EQ(again->data.path, recipe.data.path);
  EXPECT_EQ(again->data.train, recipe.data.train);
  EXPECT_EQ(again->data.validation, recipe.data.validation);
  EXPECT_EQ(again->data.split_seed, recipe.data.split_seed);
  EXPECT_EQ(again->data.classes, recipe.data.classes);
  EXPECT_EQ(again->data.token_type, recipe.data.token_type);
  EXPECT_EQ(again->data.normalise, recipe.data.normalise);
  EXPECT_EQ(again->data.deviation, recipe.data.deviation);
  EXPECT_EQ(again->data.augmentation.crop_padding, 4);
  EXPECT_TRUE(again->data.augmentation.flip);
  EXPECT_EQ(again->seed, 17u);
  EXPECT_EQ(again->unit, "step");
  EXPECT_EQ(again->length, 1000);
  ASSERT_TRUE(again->recorded);
  EXPECT_TRUE(CheckSameArchive(*again->recorded, recipe.recorded->archives[0]));
}

TEST(RecipeJsonTest, WhatIsNotThereIsNotWritten) {
  const auto plain = RecipeFromJson(ToJson(RecipeWith({})));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(plain->recorded);
  EXPECT_FALSE(plain->data.classes);
}

TEST(RecipeJsonTest, RecordedFilesReadBack) {
  const Recorded recorded = *FullRecipe().recorded;
  const auto again = RecordedFromJson(ToJson(recorded));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), ToJson(recorded));
  EXPECT_FALSE(RecordedFromJson("{}"));
}

TEST(RecipeJsonTest, OtherTextsAreRefused) {
  const std::string good = ToJson(FullRecipe());
  EXPECT_THAT(Refusal(""), StartsWith("recipe: expected a JSON object"));
  EXPECT_THAT(Refusal("[]"), StartsWith("recipe: expected a JSON object"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("as version, found nothing"));
  EXPECT_THAT(Refusal(Replaced(good, "\"version\":1", "\"version\":2")),
              HasSubstr("expected 1 as version, found 2"));
  EXPECT_THAT(Refusal(Replaced(good, "\"seed\":17", "\"seed\":-1")),
              HasSubstr("as seed, found -1"));
  EXPECT_THAT(Refusal(Replaced(good, "\"unit\":\"step\"", "\"unit\":\"hour\"")),
              HasSubstr("expected 'epoch' or 'step' as unit, found \"hour\""));
  EXPECT_THAT(Refusal(Replaced(good, "\"train.lr\"", "\"train.rl\"")),
              HasSubstr("expected no 'train.rl' in settings"));
  EXPECT_THAT(Refusal(Replaced(good, "\"{lr}\"", "0.1")), HasSubstr("as settings.train.lr"));
  EXPECT_THAT(Refusal(Replaced(good, "\"kind\":\"tokens\"", "\"kind\":\"tensors\"")),
              HasSubstr("as data.kind, found \"tensors\""));
  EXPECT_THAT(Refusal(Replaced(good, "\"uint32\"", "\"float32\"")), HasSubstr("data.token_type"));
  EXPECT_THAT(Refusal(Replaced(good, "\"flip\":true", "\"flip\":true,\"mix\":1")),
              HasSubstr("expected no 'mix' in data"));
  EXPECT_THAT(Refusal(Replaced(good, "\"inputs\":[\"x.npy\"", "\"inputs\":[1")),
              HasSubstr("data.train.inputs"));
  EXPECT_THAT(Refusal(Replaced(good, "x2.npy", "x\\u0000.npy")), HasSubstr("data.train.inputs"));
  EXPECT_THAT(Refusal(Replaced(good, "\"bytes\":10", "\"bytes\":null")),
              HasSubstr("recorded.archives.bytes"));
}

TEST(RecipeJsonTest, ListsHaveFewItemsAndFlatPaths) {
  for (const char* path : {"train.betas", "train.betas.x", "train.betas.01", "train.betas.1000",
                           "train.betas.", "train.lr.0", "train", "", "train.dropout."})
    EXPECT_FALSE(RecipeFromJson(ToJson(RecipeWith({{path, "1"}})))) << path;
  for (const char* path : {"train.betas.0", "train.schedule.at.999", "train.dropout.x.0"})
    EXPECT_TRUE(RecipeFromJson(ToJson(RecipeWith({{path, "1"}})))) << path;
}

}  // namespace
}  // namespace sluice::recipe
