#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_soak.h"
#include "train/bundle/test_law.h"
#include "train/check/appended.h"

// A trial's trajectory never depends on the bundle that it is trained in.
namespace sluice::train {
namespace {

const char* const kLawNetworks[] = {
    "zoo:mlp,in=12,hidden=8",
    "zoo:lenet",
    "zoo:resnet18",
    "zoo:vit-tiny,classes=10,image=32,patch=8,width=24,layers=2",
    "zoo:lstm-lm,vocab=30,tokens=5,width=8,hidden=8,layers=2",
    "zoo:gpt,vocab=30,tokens=6,width=8,layers=2,heads=2",
};

LawShape ShapeOf(const std::string& network, recipe::OptimizerKind kind) {
  // At its full width ResNet-18 takes minutes.
  return {.network = network, .scale = network == "zoo:resnet18" ? 8.0 : 1.0, .kind = kind};
}

recipe::TrialRecipe RecipeOf(const std::string& network, recipe::OptimizerKind kind, int trial) {
  return LawRecipe(ShapeOf(network, kind), trial);
}

std::shared_ptr<const PreparedNetwork> Prepared(const recipe::TrialRecipe& recipe) {
  auto prepared = LawNetwork(ShapeOf(recipe.network, recipe.optimizer.kind));
  EXPECT_TRUE(prepared) << prepared.error().message;
  return *prepared;
}

double Distance(const std::shared_ptr<const PreparedNetwork>& network, const TrialState& one,
                const TrialState& other) {
  EXPECT_EQ(one.step, other.step);
  return CompareStates(network->graph(), one, other).difference;
}

// Trials with the seeds 0, 1, ... join.
std::vector<MemberId> JoinAll(Group& group, const recipe::TrialRecipe& recipe,
                              std::uint64_t count) {
  std::vector<MemberId> members;
  for (std::uint64_t seed = 0; seed < count; ++seed)
    members.push_back(*group.Join(recipe, seed, {}));
  return members;
}

TrialState TrainedAlone(const std::shared_ptr<const PreparedNetwork>& network,
                        const recipe::TrialRecipe& recipe, std::uint64_t seed, std::int64_t steps) {
  Group group = LawGroup(network);
  const auto member = group.Join(recipe, seed, std::nullopt);
  EXPECT_TRUE(member) << member.error().message;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Status trained = StepAll(group);
    EXPECT_TRUE(trained) << trained.error().message;
  }
  return group.StateOf(*member);
}

class LawTest : public testing::TestWithParam<const char*> {
 protected:
  // The tensors are small: several threads would take ten times as long.
  static void SetUpTestSuite() { at::set_num_threads(1); }
};

TEST_P(LawTest, ATrialInABundleBecomesWhatItBecomesAlone) {
  if (GetParam() == std::string_view("zoo:resnet18") && !Soaks())
    GTEST_SKIP() << "takes 10 s: make soak";
  for (const auto kind : {recipe::OptimizerKind::kSgd, recipe::OptimizerKind::kAdamW}) {
    const LawShape shape = ShapeOf(GetParam(), kind);
    const auto network = LawNetwork(shape);
    ASSERT_TRUE(network) << network.error().message;
    Law law(shape, *network);
    const auto differences = law.Run();
    ASSERT_TRUE(differences) << differences.error().message;
    for (const LawDifference& each : *differences)
      EXPECT_LE(each.difference, kFusedBound) << "trial " << each.trial << ", " << each.tensor
                                              << ", optimizer " << static_cast<int>(kind);
    EXPECT_TRUE(law.diverged()) << "the test is meant to have a trial that diverges";
    EXPECT_EQ(law.steps(3), kLawSteps - 2);
    EXPECT_EQ(law.steps(4), kLawSteps - 11);
    EXPECT_EQ(law.steps(5), kLawSteps - 11 + 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, LawTest, testing::ValuesIn(kLawNetworks), [](const auto& info) {
  std::string name = info.param;
  for (char& each : name)
    if (!std::isalnum(static_cast<unsigned char>(each))) each = '_';
  return name;
});

TEST(GroupTest, ATrialThatMovesGoesOnWhereItWas) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kAdam, 1);
  const auto network = Prepared(recipe);
  Group first = LawGroup(network);
  const MemberId member = *first.Join(recipe, 7, {});
  for (int step = 0; step < 8; ++step) ASSERT_TRUE(StepAll(first));
  Group second = LawGroup(network);
  ASSERT_TRUE(second.Join(recipe, 3, {}));
  const MemberId moved = *second.Join(recipe, 7, first.StateOf(member));
  for (int step = 0; step < 8; ++step) ASSERT_TRUE(StepAll(second));
  EXPECT_LT(Distance(network, second.StateOf(moved), TrainedAlone(network, recipe, 7, 16)),
            kFusedBound);
}

TEST(GroupTest, HowWideStacksAreChangesNothing) {
  const auto recipe = RecipeOf("zoo:lenet", recipe::OptimizerKind::kSgd, 1);
  const auto network = Prepared(recipe);
  std::vector<std::vector<TrialState>> states;
  for (const std::size_t width : {1, 2, 5}) {
    Group group = LawGroup(network);
    group.LimitWidth(width);
    const std::vector<MemberId> members = JoinAll(group, recipe, 5);
    for (int step = 0; step < 6; ++step) ASSERT_EQ(group.Step().size(), 5u);
    EXPECT_EQ(group.arrangement(), (Arrangement{.width = width, .workers = 1}));
    states.emplace_back();
    for (const MemberId member : members) states.back().push_back(group.StateOf(member));
  }
  for (std::size_t trial = 0; trial < 5; ++trial) {
    EXPECT_LT(Distance(network, states[1][trial], states[0][trial]), kFusedBound);
    EXPECT_LT(Distance(network, states[2][trial], states[0][trial]), kFusedBound);
  }
}

// Trials that join, wait and diverge, in stacks that train side by side.
TEST(GroupTest, WhatTrainsBesideAStackChangesNothing) {
  for (const char* const name :
       {"zoo:lenet", "zoo:vit-tiny,classes=10,image=32,patch=8,width=24,layers=2"}) {
    const auto network = Prepared(RecipeOf(name, recipe::OptimizerKind::kAdamW, 0));
    Workers workers(3);
    Group group = LawGroup(network, {.workers = &workers});
    group.LimitWidth(2);
    std::vector<MemberId> members;
    const auto join = [&] {
      const auto seed = members.size();
      auto recipe = RecipeOf(name, recipe::OptimizerKind::kAdamW, static_cast<int>(seed));
      if (seed == 2) recipe.optimizer.lr = 1e200;  // this one diverges
      members.push_back(*group.Join(recipe, seed, {}));
    };
    for (int i = 0; i < 7; ++i) join();
    for (int step = 0; step < 8; ++step) {
      if (step == 2) join();
      if (step == 3 || step == 5) group.SetWaiting(members[3], step == 3);
      ASSERT_TRUE(StepAll(group));
      EXPECT_EQ(group.arrangement(), (Arrangement{.width = 2, .workers = 3}));
    }
    const auto measured = group.Evaluate(members);
    ASSERT_TRUE(measured) << measured.error().message;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i == 2) continue;
      const TrialState state = group.StateOf(members[i]);
      EXPECT_EQ(state.step, i == 3 || i == 7 ? 6 : 8);
      Group alone = LawGroup(network);
      const MemberId member =
          *alone.Join(RecipeOf(name, recipe::OptimizerKind::kAdamW, static_cast<int>(i)), i, {});
      while (alone.StepOf(member) < state.step) ASSERT_TRUE(StepAll(alone));
      EXPECT_LT(Distance(network, state, alone.StateOf(member)), kFusedBound) << name << ", " << i;
      const double loss = (*alone.Evaluate({member}))[0].values.at("loss");
      EXPECT_NEAR((*measured)[i].values.at("loss"), loss, 1e-10 * std::abs(loss));
    }
  }
}

TEST(GroupTest, TheFastestArrangementIsFoundWhileTrialsTrain) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kSgd, 1);
  const auto network = Prepared(recipe);
  Workers workers(2);
  double now_s = 0;
  // Each step takes a second, but for those of pairs side by side.
  const Group* watched = nullptr;
  const auto seconds = [&] {
    return now_s += watched->arrangement() == Arrangement{.width = 2, .workers = 2} ? 0.5 : 1;
  };
  Group group = LawGroup(network, {.seconds = seconds, .workers = &workers});
  watched = &group;
  const std::vector<MemberId> members = JoinAll(group, recipe, 4);
  while (group.IsMeasuring()) {
    ASSERT_TRUE(StepAll(group));
    ASSERT_LT(now_s, 1000);
  }
  ASSERT_TRUE(StepAll(group));
  EXPECT_EQ(group.arrangement(), (Arrangement{.width = 2, .workers = 2}));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const TrialState state = group.StateOf(members[seed]);
    EXPECT_LT(Distance(network, state, TrainedAlone(network, recipe, seed, state.step)),
              kFusedBound);
  }
}

// As if the memory did not suffice for more than some trials in one program.
class ScarceBatches : public DrawnBatches {
 public:
  ScarceBatches(const model::Graph& graph, at::ScalarType real, std::size_t most)
      : DrawnBatches(graph, real), most_(most) {}
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override {
    if (steps.size() > most_) return OutOfMemory("too little");
    return DrawnBatches::ForTraining(steps);
  }

 private:
  std::size_t most_;
};

TEST(GroupTest, StacksGetSmallerUntilTheMemorySuffices) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kSgd, 1);
  const auto network = Prepared(recipe);
  Group group(network, std::make_unique<ScarceBatches>(network->graph(), network->real(), 3), {});
  const std::vector<MemberId> members = JoinAll(group, recipe, 9);
  std::vector<std::size_t> widths;
  while (group.StepOf(members.back()) < 4) {
    const Status trained = StepAll(group);
    ASSERT_TRUE(trained) << trained.error().message;
    widths.push_back(group.most_width());
    ASSERT_LT(widths.size(), 20u);
  }
  EXPECT_EQ(widths[0], 4u);
  EXPECT_EQ(widths[1], 2u);
  EXPECT_EQ(group.arrangement().width, 2u);
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    const TrialState state = group.StateOf(members[seed]);
    EXPECT_LT(Distance(network, state, TrainedAlone(network, recipe, seed, state.step)),
              kFusedBound);
  }
}

TEST(GroupTest, WhereTheMemoryDoesNotSufficeForOneTrialThatIsAnError) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kSgd, 1);
  const auto network = Prepared(recipe);
  Group group(network, std::make_unique<ScarceBatches>(network->graph(), network->real(), 0), {});
  ASSERT_TRUE(group.Join(recipe, 1, {}));
  const auto trained = group.Step();
  ASSERT_EQ(trained.size(), 1u);
  ASSERT_TRUE(trained[0].refused);
  EXPECT_EQ(trained[0].refused->code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(trained[0].steps, 0);
}

// As if the memory did not suffice for two programs at a time.
class BatchesForOne : public DrawnBatches {
 public:
  using DrawnBatches::DrawnBatches;
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override {
    if (beside && steps[0] == 2) return OutOfMemory("too little");
    return DrawnBatches::ForTraining(steps);
  }
  Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const override {
    if (refused++ < 2) return OutOfMemory("too little");
    return DrawnBatches::ForEvaluation(first, count);
  }
  bool beside = true;
  mutable std::atomic<int> refused = 0;  // evaluations
};

TEST(GroupTest, WhereTheMemoryDoesNotSufficeSideBySideStacksTrainOneAfterAnother) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kSgd, 1);
  const auto network = Prepared(recipe);
  Workers workers(2);
  auto batches = std::make_unique<BatchesForOne>(network->graph(), network->real());
  BatchesForOne& memory = *batches;
  Group group(network, std::move(batches), {.workers = &workers});
  group.LimitWidth(1);
  const std::vector<MemberId> members = JoinAll(group, recipe, 4);
  for (int step = 0; step < 2; ++step) ASSERT_EQ(group.Step().size(), 4u);
  const auto measured = group.Evaluate(members);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_GT(memory.refused, 2);
  EXPECT_THAT(group.Step(), testing::IsEmpty());
  EXPECT_FALSE(group.allows_side_by_side());
  memory.beside = false;
  for (int step = 0; step < 2; ++step) ASSERT_EQ(group.Step().size(), 4u);
  EXPECT_EQ(group.arrangement(), (Arrangement{.width = 1, .workers = 1}));
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    EXPECT_LT(
        Distance(network, group.StateOf(members[seed]), TrainedAlone(network, recipe, seed, 4)),
        kFusedBound);
}

TEST(GroupTest, TrialsAreEvaluatedAndGoOnAfterOneOfTheirStackHasLeft) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kAdamW, 1);
  const auto network = Prepared(recipe);
  Group group = LawGroup(network);
  const std::vector<MemberId> members = JoinAll(group, recipe, 3);
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(StepAll(group));
  const auto before = group.Evaluate({members[0], members[2]});
  ASSERT_TRUE(before) << before.error().message;
  group.Leave(members[1]);
  const auto after = group.Evaluate({members[0], members[2]});
  ASSERT_TRUE(after) << after.error().message;
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR((*after)[i].values.at("loss"), (*before)[i].values.at("loss"), 1e-12);
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(StepAll(group));
  for (const std::uint64_t seed : {0u, 2u})
    EXPECT_LT(
        Distance(network, group.StateOf(members[seed]), TrainedAlone(network, recipe, seed, 4)),
        kFusedBound);
}

TEST(GroupTest, EvaluationOfSomeTrialsIsThatOfEachAlone) {
  const auto recipe = RecipeOf("zoo:resnet18", recipe::OptimizerKind::kSgd, 0);
  const auto network = Prepared(recipe);
  Group group = LawGroup(network);
  const std::vector<MemberId> members = JoinAll(group, recipe, 3);
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(StepAll(group));
  const auto found = group.Evaluate({members[2], members[0]});
  ASSERT_TRUE(found) << found.error().message;
  for (std::size_t i = 0; i < 2; ++i) {
    Group alone = LawGroup(network);
    const MemberId member = *alone.Join(recipe, i == 0 ? 2 : 0, {});
    for (int step = 0; step < 3; ++step) ASSERT_TRUE(StepAll(alone));
    const auto expected = alone.Evaluate({member});
    ASSERT_TRUE(expected);
    const double loss = (*found)[i].values.at("loss");
    EXPECT_NEAR(loss, (*expected)[0].values.at("loss"), 1e-10 * std::abs(loss));
  }
}

// Makes the network return the mean entropy of its outputs' sigmoids. PyTorch refuses NaN there.
void ReturnEntropy(model::Graph& graph) {
  Appended appended(graph);
  const auto chance =
      appended.Add("aten.sigmoid.default", {Appended::Argument("self", graph.outputs.front())});
  graph.outputs = {
      appended.Add("aten.binary_cross_entropy.default",
                   {Appended::Argument("self", chance), Appended::Argument("target", chance)})};
}

TEST(GroupTest, ATrialThatPyTorchRefusesStopsNoOther) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kSgd, 1);
  auto opened = OpenTrainedNetwork(recipe);
  ASSERT_TRUE(opened) << opened.error().message;
  ReturnEntropy(opened->graph);
  const auto network = PreparedNetwork::Prepare(std::move(*opened), recipe);
  ASSERT_TRUE(network) << network.error().message;
  Group group = LawGroup(*network);
  auto diverging = recipe;
  diverging.optimizer.lr = std::numeric_limits<double>::infinity();
  const MemberId first = *group.Join(recipe, 1, {});
  const MemberId diverges = *group.Join(diverging, 2, {});
  const MemberId last = *group.Join(recipe, 3, {});
  ASSERT_TRUE(StepAll(group));
  for (int step = 0; step < 2; ++step) {
    const auto trained = group.Step();
    ASSERT_EQ(trained.size(), 3u);
    for (const Group::Trained& each : trained) {
      EXPECT_EQ(each.refused.has_value(), each.member == diverges);
      EXPECT_EQ(each.steps, each.member == diverges ? 1 : step + 2);
    }
  }
  group.Leave(diverges);
  ASSERT_TRUE(StepAll(group));
  EXPECT_LT(Distance(*network, group.StateOf(first), TrainedAlone(*network, recipe, 1, 4)),
            kFusedBound);
  EXPECT_LT(Distance(*network, group.StateOf(last), TrainedAlone(*network, recipe, 3, 4)),
            kFusedBound);
  Group alone = LawGroup(*network);
  ASSERT_TRUE(alone.Join(diverging, 2, {}));
  ASSERT_TRUE(StepAll(alone));
  const auto refused = StepAll(alone);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("between 0 and 1"));
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition) << "it was given NaN";
}

TEST(GroupTest, AStateOfAnotherNetworkIsRefused) {
  const auto recipe = RecipeOf("zoo:mlp,in=12,hidden=8", recipe::OptimizerKind::kSgd, 0);
  const auto other = RecipeOf("zoo:mlp,in=12,hidden=16", recipe::OptimizerKind::kSgd, 0);
  const auto network = Prepared(recipe);
  Group group = LawGroup(network);
  const auto joined = group.Join(recipe, 1, TrainedAlone(Prepared(other), other, 1, 1));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(group.size(), 0u);
}

}  // namespace
}  // namespace sluice::train
