#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "model/evaluate/evaluation.h"
#include "train/bundle/group.h"
#include "train/check/appended.h"
#include "train/check/drawn_batches.h"

// Metrics of networks that return their loss: they are those of the scores that the loss was
// computed from.
namespace sluice::train {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Makes a network of scores compare them with classes, and return the cross entropy.
void ReturnCrossEntropy(model::Graph& graph, std::int64_t ignored) {
  Appended appended(graph);
  const model::ValueId scores = graph.outputs.front();
  model::Value input = graph.value(scores);
  input.sizes.resize(1);
  input.dtype = model::DType::kInt64;
  const model::ValueId classes = appended.AddInput(std::move(input));
  graph.outputs = {appended.Add("aten.cross_entropy_loss.default",
                                {Appended::Argument("self", scores),
                                 Appended::Argument("target", classes),
                                 {.name = "ignore_index", .value = ignored}})};
}

recipe::TrialRecipe MlpThatReturnsItsLoss() {
  recipe::TrialRecipe recipe;
  recipe.network = "zoo:mlp,in=12,hidden=8";
  recipe.loss = "returned";
  recipe.precision = recipe::Precision::kFloat64;
  recipe.batch = DrawnBatches::kBatch;
  recipe.keep_readout = true;
  recipe.optimizer.lr = 0.3;
  return recipe;
}

TEST(ReturnedLossTest, MetricsAreThoseOfTheScoresInIt) {
  constexpr std::int64_t kIgnored = 0;  // half of the classes that are drawn
  const recipe::TrialRecipe recipe = MlpThatReturnsItsLoss();
  auto opened = OpenTrainedNetwork(recipe);
  ASSERT_TRUE(opened) << opened.error().message;
  model::Graph scores = opened->graph;
  ReturnCrossEntropy(opened->graph, kIgnored);
  auto network = PreparedNetwork::Prepare(*std::move(opened), recipe);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_THAT((*network)->metrics().names, ElementsAre("loss", "accuracy", "top5", "perplexity"));
  Group group(*network, std::make_unique<DrawnBatches>((*network)->graph(), at::kDouble), {});
  std::vector<MemberId> members;
  for (std::uint64_t seed = 0; seed < 3; ++seed) members.push_back(*group.Join(recipe, seed, {}));
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(StepAll(group));
  const auto measured = group.Evaluate(members);
  ASSERT_TRUE(measured) << measured.error().message;

  auto evaluation = model::MakeEvaluation(scores);
  ASSERT_TRUE(evaluation);
  const auto program = Program::Prepare(evaluation->graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const DrawnBatches batches((*network)->graph(), at::kDouble);
  for (std::size_t trial = 0; trial < members.size(); ++trial) {
    TrialState state = group.StateOf(members[trial]);
    for (at::Tensor& each : state.parameters)
      if (each.defined()) each = each.unsqueeze(0);
    double sum = 0;
    std::int64_t counted = 0;
    std::int64_t right = 0;
    std::int64_t right5 = 0;
    for (std::int64_t first = 0; first < DrawnBatches::kEvaluated; first += DrawnBatches::kBatch) {
      const std::int64_t count = std::min(DrawnBatches::kBatch, DrawnBatches::kEvaluated - first);
      const auto batch = batches.ForEvaluation(first, count);
      const auto outcome = program->Run(
          {.trials = 1, .parameters = state.parameters, .inputs = {batch->inputs.data(), 1}});
      ASSERT_TRUE(outcome) << outcome.error().message;
      const at::Tensor rows = OfTrial(outcome->outputs.front(), 0);
      const at::Tensor losses = -rows.log_softmax(1);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto own = batch->inputs[1].tensor[i].item<std::int64_t>();
        if (own == kIgnored) continue;
        ++counted;
        sum += losses[i][own].item<double>();
        const auto ahead = rows[i].gt(rows[i][own]).sum().item<std::int64_t>();
        right += ahead < 1;
        right5 += ahead < 5;
      }
    }
    ASSERT_GT(counted, 0);
    auto values = (*measured)[trial].values;
    const auto number = static_cast<double>(counted);
    EXPECT_NEAR(values["perplexity"], std::exp(sum / number), 1e-12);
    EXPECT_EQ(values["accuracy"], static_cast<double>(right) / number);
    EXPECT_EQ(values["top5"], static_cast<double>(right5) / number);
    EXPECT_EQ(values.count("loss"), 1u);
  }
}

TEST(ReturnedLossTest, ALossThatIsNoCrossEntropyIsTheOnlyMetric) {
  const recipe::TrialRecipe recipe = MlpThatReturnsItsLoss();
  auto opened = OpenTrainedNetwork(recipe);
  ASSERT_TRUE(opened);
  ReturnSquares(opened->graph);
  auto network = PreparedNetwork::Prepare(*std::move(opened), recipe);
  ASSERT_TRUE(network) << network.error().message;
  Group group(*network, std::make_unique<DrawnBatches>((*network)->graph(), at::kDouble), {});
  const MemberId member = *group.Join(recipe, 1, {});
  ASSERT_TRUE(StepAll(group));
  const auto measured = group.Evaluate({member});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_THAT(measured->front().values, ElementsAre(Pair("loss", testing::_)));
}

}  // namespace
}  // namespace sluice::train
