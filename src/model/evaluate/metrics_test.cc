#include "model/evaluate/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/text.h"
#include "model/zoo/builder.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const EvaluationPlan kAsExported;

// Scores for so many classes.
Graph Classifier(std::int64_t classes) {
  Builder b;
  const ValueId scores = b.Linear("out", b.Input("x", {3}), 3, classes);
  return std::move(b).Finish({scores})->graph;
}

// A network that returns the cross entropy of ten scores and its second input.
Graph WithLoss(std::vector<Argument> more, DType classes = DType::kInt64) {
  Builder b;
  const ValueId scores = b.Linear("out", b.Input("x", {3}), 3, 10);
  std::vector<std::int64_t> sizes;
  if (classes != DType::kInt64) sizes.push_back(10);
  std::vector<Argument> arguments = {Arg("self", scores),
                                     Arg("target", b.Input("y", sizes, classes))};
  for (Argument& each : more) arguments.push_back(std::move(each));
  return std::move(b).Finish({b.Call("aten.cross_entropy_loss.default", arguments)})->graph;
}

// "loss, accuracy", then a line for each reason.
std::string AllText(const Graph& graph, std::string_view loss) {
  const Metrics metrics = MetricsOf(graph, loss, kAsExported);
  std::string all = Join(metrics.names) + "\n";
  for (const std::string& line : MissingText(metrics)) all += line + "\n";
  return all;
}

TEST(MetricsTest, AFunctionOfScoresHasTheMetricsOfClasses) {
  for (const char* loss : {"cross_entropy", "nll"}) {
    const Graph graph = Classifier(10);
    const Metrics metrics = MetricsOf(graph, loss, kAsExported);
    EXPECT_THAT(metrics.names, ElementsAre("loss", "accuracy", "top5", "perplexity"));
    ASSERT_TRUE(metrics.scores);
    EXPECT_EQ(metrics.scores->scores, graph.outputs.front());
    EXPECT_FALSE(metrics.scores->classes);
  }
  EXPECT_EQ(AllText(Classifier(4), "cross_entropy"),
            "loss, accuracy, perplexity\nno top5: there are only 4 classes\n");
}

TEST(MetricsTest, TheDataSaysHowManyClassesThereAre) {
  EXPECT_THAT(MetricsOf(Classifier(10), "nll", kAsExported, 4).names,
              ElementsAre("loss", "accuracy", "perplexity"));
}

TEST(MetricsTest, OtherLossesSayWhatTheyLack) {
  EXPECT_EQ(AllText(Classifier(10), "mse"),
            "loss\n"
            "no accuracy, top5, perplexity: mse compares numbers, and no classes\n");
  EXPECT_THAT(AllText(Classifier(10), "binary_cross_entropy"),
              HasSubstr("loss, accuracy\nno top5: "));
}

TEST(MetricsTest, AReturnedCrossEntropyTellsItsScoresAndClasses) {
  const Graph graph = WithLoss({Arg("ignore_index", std::int64_t{3})});
  const Metrics metrics = MetricsOf(graph, "returned", kAsExported);
  EXPECT_THAT(metrics.names, ElementsAre("loss", "accuracy", "top5", "perplexity"));
  ASSERT_TRUE(metrics.scores);
  EXPECT_EQ(metrics.scores->scores, *graph.nodes[0].outputs[0]);
  EXPECT_EQ(metrics.scores->classes, graph.inputs[1]);
  EXPECT_EQ(metrics.scores->ignored_class, 3);
}

TEST(MetricsTest, AReturnedLossIsAPerplexityOnlyAsAPlainMean) {
  EXPECT_THAT(AllText(WithLoss({Arg("reduction", std::int64_t{2})}), "returned"),
              HasSubstr("no perplexity: the network returns its own loss, which node "
                        "'cross_entropy_loss_1' (aten.cross_entropy_loss.default) computes as a "
                        "sum, not as a mean"));
  EXPECT_THAT(AllText(WithLoss({Arg("label_smoothing", 0.1)}), "returned"),
              HasSubstr("computes with label smoothing"));
  EXPECT_THAT(AllText(WithLoss({}, DType::kFloat32), "returned"),
              HasSubstr("loss, perplexity\nno accuracy, top5: "));
}

TEST(MetricsTest, AnotherReturnedLossHasNoScores) {
  Builder b;
  const ValueId scores = b.Linear("out", b.Input("x", {3}), 3, 10);
  const ValueId loss = b.Call("aten.mean.default", {Arg("self", scores)});
  const Graph graph = std::move(b).Finish({loss, scores})->graph;
  EXPECT_FALSE(MetricsOf(graph, "returned", kAsExported).scores);
  EXPECT_THAT(AllText(graph, "returned"),
              testing::AllOf(HasSubstr("loss\nno accuracy, top5, perplexity: "),
                             HasSubstr("(aten.mean.default) computes: this is no cross entropy, so "
                                       "its scores are not known")));
}

TEST(MetricsTest, ANetworkWhoseEvaluationDiffersHasItsTrainingLoss) {
  const Comparison differs{.verdict = Comparison::Verdict::kDiffers, .about = "eval_output.0"};
  EXPECT_EQ(ComparisonText(differs), "differs: eval_output.0");
  const EvaluationPlan plan = PlanEvaluation(differs, {"node 'rand' draws numbers"}, false);
  EXPECT_EQ(plan.by, EvaluationPlan::By::kNothing);
  EXPECT_THAT(plan.why, HasSubstr("(differs: eval_output.0; node 'rand' draws numbers)"));
  const Metrics metrics = MetricsOf(Classifier(10), "cross_entropy", plan);
  EXPECT_TRUE(metrics.only_training_loss);
  EXPECT_THAT(metrics.names, ElementsAre("loss"));
  EXPECT_THAT(MissingText(metrics),
              ElementsAre(testing::AllOf(HasSubstr("no accuracy, top5, perplexity: "),
                                         HasSubstr("'evaluate: as_trained' evaluates it"))));
  EXPECT_EQ(PlanEvaluation(differs, {}, true).by, EvaluationPlan::By::kTrainingGraph);
}

TEST(MetricsTest, AnUncheckedNetworkIsEvaluatedAndNamed) {
  const EvaluationPlan plan = PlanEvaluation({.about = "the archive has no outputs"}, {}, false);
  EXPECT_EQ(plan.by, EvaluationPlan::By::kEvaluationGraph);
  EXPECT_THAT(plan.why, HasSubstr("was not checked: the archive has no outputs"));
  EXPECT_EQ(PlanEvaluation({.verdict = Comparison::Verdict::kEqual}, {"a note"}, false).why, "");
}

}  // namespace
}  // namespace sluice::model
