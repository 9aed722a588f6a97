#include "exec/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StudySpec SpecWith(const std::string& lines) {
  auto spec = ReadStudy(lines +
                            "train: {optimizer: sgd, lr: '{lr}', batch: 8}\n"
                            "objective: {minimize: loss}\ntrials: 2\nbudget: {max: 3}\n",
                        "study.yaml", "study");
  EXPECT_TRUE(spec) << spec.error().message;
  return spec ? std::move(*spec) : StudySpec{};
}

const char* const kNetworks =
    "data: digits\n"
    "model: '{kind}-{depth}.pt2'\n"
    "space:\n"
    "  lr: {float: [0.1, 1]}\n"
    "  kind: {choice: [mlp, cnn]}\n"
    "  depth: {int: [1, 2], when: kind == 'cnn'}\n";

TEST(TrainerTest, NetworksAreThoseOfAllValues) {
  const auto networks = NetworksOf(SpecWith(kNetworks));
  ASSERT_TRUE(networks);
  EXPECT_THAT(*networks, ElementsAre("mlp-1.pt2", "mlp-2.pt2", "cnn-1.pt2", "cnn-2.pt2"));
  std::string many = kNetworks;
  many.replace(many.find("[1, 2]"), 6, "[1, 501]");
  const auto refused = NetworksOf(SpecWith(many));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("expected at most 1000 networks, found more by "
                                                 "'depth'"));
}

TEST(TrainerTest, PathsAreThoseOfTheStudysFolder) {
  const data::DataSpec spec{.path = "digits",
                            .train = {.inputs = {"/a.npy", "../b.npy"}, .targets = {"c.npy"}}};
  const data::DataSpec moved = DataIn(spec, "/home/ann");
  EXPECT_EQ(moved.path, "/home/ann/digits");
  EXPECT_THAT(moved.train.inputs, ElementsAre("/a.npy", "/home/b.npy"));
  EXPECT_THAT(moved.train.targets, ElementsAre("/home/ann/c.npy"));
  EXPECT_EQ(DataIn({}, "/home/ann").path, "");
}

TEST(TrainerTest, IsGivenTheRecipeWithTheStudysSeed) {
  Study study;
  study.spec = SpecWith("data: digits\nmodel: zoo:mlp\nspace: {lr: {float: [0.1, 1]}}\n");
  study.seed = 77;
  const TrainerStart start = StartOfTrainer(study, "/bin/sluice-trainer", "/launch/recipe.json");
  ASSERT_EQ(start.program.size(), 4U);
  EXPECT_THAT(start.program,
              ElementsAre("/bin/sluice-trainer", "train", "--recipe", HasSubstr("\"seed\":77")));
  EXPECT_EQ(start.recipe, "");
  const auto recipe = recipe::RecipeFromJson(start.program[3]);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->length, 3);
}

TEST(TrainerTest, ALongRecipeIsInAFile) {
  Study study;
  study.spec = SpecWith("data: digits\nmodel: zoo:mlp\nspace: {lr: {float: [0.1, 1]}}\n");
  study.spec.training->data.train.inputs.assign(100, std::string(4000, 'x'));
  study.spec.demand.fused_most = 200;
  const TrainerStart start = StartOfTrainer(study, "trainer", "/launch/recipe.json");
  EXPECT_THAT(start.program, ElementsAre("trainer", "train", "--recipe", "/launch/recipe.json",
                                         "--capacity", "200"));
  EXPECT_TRUE(recipe::RecipeFromJson(start.recipe));
}

}  // namespace
}  // namespace sluice
