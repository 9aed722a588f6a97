#include "train/measure/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

at::Tensor MetricClasses(at::IntArrayRef sizes, std::int64_t below) {
  return Numbers(sizes, 78).abs().mul(1000).to(at::kLong).remainder(below);
}

// Adds the examples in batches of these sizes.
std::vector<Measured> MeasuredIn(const std::vector<std::int64_t>& batches, LossKind kind,
                                 const at::Tensor& outputs, const at::Tensor& targets) {
  Metrics metrics(kind, outputs.size(0));
  std::int64_t from = 0;
  for (const std::int64_t size : batches) {
    const Status added = metrics.Add({.output = Stacked(outputs.narrow(1, from, size)),
                                      .target = Shared(targets.narrow(0, from, size)),
                                      .trials = outputs.size(0),
                                      .examples = size});
    EXPECT_TRUE(added) << added.error().message;
    from += size;
  }
  return metrics.Results();
}

std::vector<std::string> NamesOf(const Measured& measured) {
  std::vector<std::string> names;
  for (const auto& [name, value] : measured.values) names.push_back(name);
  return names;
}

TEST(MetricsTest, BatchesOfAnySizesGiveTheMeansOfOne) {
  at::Tensor targets = MetricClasses({12, 5}, 9);
  targets.masked_fill_(Numbers({12, 5}, 5) > 0.5, kIgnoredClass);
  for (const auto type : {at::kDouble, at::kFloat}) {
    const at::Tensor outputs = Numbers({3, 12, 5, 9}, 1).to(type);
    const auto one = MeasuredIn({12}, LossKind::kCrossEntropy, outputs, targets);
    const auto many = MeasuredIn({5, 1, 4, 2}, LossKind::kCrossEntropy, outputs, targets);
    for (std::size_t trial = 0; trial < 3; ++trial) {
      EXPECT_THAT(NamesOf(one[trial]), ElementsAre("accuracy", "loss", "perplexity", "top5"));
      for (const auto& [name, value] : one[trial].values)
        EXPECT_NEAR(many[trial].values.at(name), value, 1e-14 * std::abs(value)) << name;
      const at::Tensor alone = at::cross_entropy_loss(
          outputs[static_cast<std::int64_t>(trial)].flatten(0, 1), targets.flatten());
      const double bound = type == at::kDouble ? 1e-14 : 1e-6;
      EXPECT_NEAR(one[trial].values.at("loss"), alone.item().toDouble(), 5 * bound);
      EXPECT_NEAR(one[trial].values.at("perplexity"), std::exp(one[trial].values.at("loss")), 1e-9);
    }
  }
}

TEST(MetricsTest, HitsAreThoseOfTheHighestScores) {
  const at::Tensor outputs = Numbers({2, 40, 9}, 1);
  const at::Tensor targets = MetricClasses({40}, 9);
  const auto measured = MeasuredIn({25, 15}, LossKind::kCrossEntropy, outputs, targets);
  for (std::int64_t trial = 0; trial < 2; ++trial) {
    const at::Tensor right = outputs[trial].argmax(-1) == targets;
    const at::Tensor best = std::get<1>(outputs[trial].topk(5));
    const at::Tensor near = (best == targets.unsqueeze(-1)).any(-1);
    const auto mean = [](const at::Tensor& of) {
      return of.to(at::kDouble).mean().item().toDouble();
    };
    const auto& values = measured[static_cast<std::size_t>(trial)].values;
    EXPECT_DOUBLE_EQ(values.at("accuracy"), mean(right));
    EXPECT_DOUBLE_EQ(values.at("top5"), mean(near));
    EXPECT_LT(values.at("accuracy"), values.at("top5"));
  }
}

TEST(MetricsTest, OfEqualScoresTheFirstClassIsHighest) {
  // A readout that begins at 0 scores all classes alike.
  const at::Tensor outputs = at::zeros({1, 8, 8}, at::kDouble);
  const auto measured = MeasuredIn({8}, LossKind::kCrossEntropy, outputs, at::arange(8, at::kLong));
  EXPECT_DOUBLE_EQ(measured[0].values.at("accuracy"), 1 / 8.0);
  EXPECT_DOUBLE_EQ(measured[0].values.at("top5"), 5 / 8.0);
}

TEST(MetricsTest, FewClassesHaveNoTop5) {
  const auto measured =
      MeasuredIn({6}, LossKind::kCrossEntropy, Numbers({1, 6, 4}, 1), MetricClasses({6}, 4));
  EXPECT_THAT(NamesOf(measured[0]), ElementsAre("accuracy", "loss", "perplexity"));
}

TEST(MetricsTest, RowWithNanIsWrongAndOtherTrialsStay) {
  const at::Tensor outputs = Numbers({2, 6, 7}, 1);
  const at::Tensor targets = outputs[0].argmax(-1);
  outputs[1].copy_(outputs[0]);
  outputs[1][0][3].fill_(std::nan(""));
  const auto measured = MeasuredIn({4, 2}, LossKind::kCrossEntropy, outputs, targets);
  EXPECT_EQ(measured[0].values.at("accuracy"), 1);
  EXPECT_TRUE(std::isfinite(measured[0].values.at("loss")));
  EXPECT_DOUBLE_EQ(measured[1].values.at("accuracy"), 5 / 6.0);
  EXPECT_TRUE(std::isnan(measured[1].values.at("loss")));
  EXPECT_TRUE(std::isnan(measured[1].values.at("perplexity")));
  EXPECT_THAT(measured[1].notes, SizeIs(0));
}

TEST(MetricsTest, PerplexityThatIsTooLargeIsSaid) {
  at::Tensor outputs = at::zeros({2, 4, 3}, at::kDouble);
  outputs[1].select(1, 0).fill_(5000);
  const auto measured = MeasuredIn({4}, LossKind::kCrossEntropy, outputs, at::ones({4}, at::kLong));
  EXPECT_NEAR(measured[0].values.at("perplexity"), 3, 1e-12);
  EXPECT_THAT(measured[0].notes, SizeIs(0));
  EXPECT_EQ(measured[1].values.at("perplexity"), std::numeric_limits<double>::infinity());
  ASSERT_THAT(measured[1].notes, SizeIs(1));
  EXPECT_THAT(measured[1].notes[0], HasSubstr("e to the loss of 5000"));
}

TEST(MetricsTest, ProbabilitiesHitTheirLikeliestClass) {
  const at::Tensor outputs = Numbers({1, 6, 7}, 1);
  const at::Tensor targets = outputs[0].mul(2).softmax(-1);
  const auto measured = MeasuredIn({6}, LossKind::kCrossEntropy, outputs, targets);
  EXPECT_EQ(measured[0].values.at("accuracy"), 1);
}

TEST(MetricsTest, BinaryAccuracyIsTheSideOfTheLogit) {
  const at::Tensor outputs =
      at::tensor({1.0, -1.0, 2.0, std::nan("")}, at::kDouble).view({1, 4, 1});
  const at::Tensor targets = at::tensor({1, 1, 1, 0}, at::kLong);
  const auto measured = MeasuredIn({3, 1}, LossKind::kBinaryCrossEntropy, outputs, targets);
  EXPECT_THAT(NamesOf(measured[0]), ElementsAre("accuracy", "loss"));
  EXPECT_DOUBLE_EQ(measured[0].values.at("accuracy"), 2 / 4.0);
}

TEST(MetricsTest, RegressionsHaveALoss) {
  const at::Tensor outputs = Numbers({2, 10, 3}, 1), targets = Numbers({10, 3}, 2);
  const auto measured = MeasuredIn({7, 3}, LossKind::kMse, outputs, targets);
  EXPECT_THAT(NamesOf(measured[1]), ElementsAre("loss"));
  EXPECT_NEAR(measured[1].values.at("loss"), at::mse_loss(outputs[1], targets).item().toDouble(),
              1e-14);
}

TEST(MetricsTest, ReturnedLossesCountByTheirExamples) {
  Metrics metrics(LossKind::kReturned, 2);
  const auto add = [&](double first, double second, std::int64_t examples) {
    return metrics.Add({.output = Stacked(at::tensor({first, second}, at::kDouble)),
                        .target = {},
                        .trials = 2,
                        .examples = examples});
  };
  ASSERT_TRUE(add(1, 10, 3));
  ASSERT_TRUE(add(2, 20, 1));
  EXPECT_DOUBLE_EQ(metrics.Results()[0].values.at("loss"), 5 / 4.0);
  EXPECT_DOUBLE_EQ(metrics.Results()[1].values.at("loss"), 50 / 4.0);
}

TEST(MetricsTest, RefusedBatchIsNotCounted) {
  Metrics metrics(LossKind::kCrossEntropy, 1);
  const Value output = Stacked(Numbers({1, 4, 7}, 1));
  const auto add = [&](const at::Tensor& classes) {
    return metrics.Add({.output = output, .target = Shared(classes), .trials = 1, .examples = 4});
  };
  EXPECT_TRUE(metrics.Results()[0].values.empty());
  ASSERT_TRUE(add(MetricClasses({4}, 7)));
  const auto before = metrics.Results()[0].values;
  EXPECT_FALSE(add(at::full({4}, 9, at::kLong)));
  EXPECT_EQ(metrics.Results()[0].values, before);
}

}  // namespace
}  // namespace sluice::train
