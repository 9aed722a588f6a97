#include "train/measure/losses.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/loss.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLossTrials = 3;

// PyTorch's loss of one trial.
using OneLoss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

at::Tensor TestClasses(at::IntArrayRef sizes, std::int64_t below, std::uint64_t seed = 77) {
  return Numbers(sizes, seed).abs().mul(1000).to(at::kLong).remainder(below);
}

OneLoss CrossEntropyOf(double smoothing = 0) {
  return [smoothing](const at::Tensor& output, const at::Tensor& target) {
    return at::cross_entropy_loss(output, target, {}, at::Reduction::Mean, kIgnoredClass,
                                  smoothing);
  };
}

// The losses of trials, and the gradients of their sum, against those of each trial alone. The
// output is stacked in each place in turn, the target is shared and stacked.
void ExpectAsAlone(LossKind kind, const at::Tensor& outputs, const at::Tensor& targets,
                   const std::vector<OneLoss>& alone, const std::vector<double>& smoothing = {},
                   double bound = 1e-13) {
  for (std::int64_t axis = 0; axis < outputs.dim(); ++axis) {
    for (const bool shared : {false, true}) {
      const at::Tensor output = outputs.movedim(0, axis).contiguous().detach().requires_grad_();
      const Value target = shared
                               ? Shared(targets[0])
                               : Stacked(targets.movedim(0, targets.dim() - 1), targets.dim() - 1);
      const auto losses = LossOfTrials(
          kind,
          {.output = Stacked(output, axis), .target = target, .trials = kLossTrials, .examples = 4},
          smoothing);
      ASSERT_TRUE(losses) << losses.error().message;
      ASSERT_EQ(losses->sizes(), (std::vector<std::int64_t>{kLossTrials}));
      losses->sum().backward();
      for (std::int64_t trial = 0; trial < kLossTrials; ++trial) {
        const at::Tensor own = outputs[trial].detach().clone().requires_grad_();
        const at::Tensor expected = alone[static_cast<std::size_t>(trial) % alone.size()](
            own, shared ? targets[0] : targets[trial]);
        expected.backward();
        EXPECT_LE(Difference((*losses)[trial], expected), bound);
        EXPECT_LE(Difference(output.grad().select(axis, trial), own.grad()), bound);
      }
    }
  }
}

// On shared cores, threads that wait for each other take longer than such small tensors.
class LossTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }
};

TEST_F(LossTest, CrossEntropyIsThatOfPyTorch) {
  const at::Tensor targets = TestClasses({kLossTrials, 4}, 7);
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 4, 7}, 1), targets,
                {CrossEntropyOf()});
}

TEST_F(LossTest, ClassesAreLastOrSecond) {
  const at::Tensor targets = TestClasses({kLossTrials, 4, 5}, 7);
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 4, 7, 5}, 1), targets,
                {CrossEntropyOf()});
  const OneLoss last = [](const at::Tensor& output, const at::Tensor& target) {
    return CrossEntropyOf()(output.flatten(0, 1), target.flatten());
  };
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 4, 5, 7}, 1), targets, {last});
  // Where both fit, they are last.
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 4, 5, 5}, 1),
                TestClasses({kLossTrials, 4, 5}, 5), {last});
  // Pictures.
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 2, 3, 4, 5}, 1),
                TestClasses({kLossTrials, 2, 4, 5}, 3), {CrossEntropyOf()});
}

TEST_F(LossTest, RowsMayBeFlattened) {
  const OneLoss rows = [](const at::Tensor& output, const at::Tensor& target) {
    return CrossEntropyOf()(output, target.flatten());
  };
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 20, 7}, 1),
                TestClasses({kLossTrials, 4, 5}, 7), {rows});
}

TEST_F(LossTest, EachTrialHasItsOwnSmoothing) {
  const std::vector<OneLoss> alone{CrossEntropyOf(0.1), CrossEntropyOf(), CrossEntropyOf(0.3)};
  const at::Tensor outputs = Numbers({kLossTrials, 4, 7}, 1);
  const std::vector<double> smoothing{0.1, 0, 0.3};
  at::Tensor targets = TestClasses({kLossTrials, 4}, 7);
  ExpectAsAlone(LossKind::kCrossEntropy, outputs, targets, alone, smoothing);
  targets.select(1, 2).fill_(kIgnoredClass);
  ExpectAsAlone(LossKind::kCrossEntropy, outputs, targets, alone, smoothing);
  ExpectAsAlone(LossKind::kCrossEntropy, outputs, targets, {CrossEntropyOf(0.2)}, {0.2, 0.2, 0.2});
  const at::Tensor probabilities = Numbers({kLossTrials, 4, 7}, 2).softmax(-1);
  ExpectAsAlone(LossKind::kCrossEntropy, outputs, probabilities, alone, smoothing);
}

TEST_F(LossTest, ClassThatIsExcludedStaysFiniteBesideASmoothedTrial) {
  at::Tensor outputs = Numbers({2, 4, 7}, 1);
  outputs.select(2, 6).fill_(-std::numeric_limits<double>::infinity());
  const LossInput input{
      .output = Stacked(outputs), .target = Shared(TestClasses({4}, 6)), .trials = 2};
  const auto losses = LossOfTrials(LossKind::kCrossEntropy, input, std::vector<double>{0, 0.1});
  ASSERT_TRUE(losses);
  EXPECT_TRUE(std::isfinite((*losses)[0].item().toDouble()));
  EXPECT_TRUE(std::isinf((*losses)[1].item().toDouble()));  // as alone
}

TEST_F(LossTest, IgnoredRowsDoNotCount) {
  at::Tensor targets = TestClasses({kLossTrials, 4, 5}, 7);
  targets.masked_fill_(Numbers({kLossTrials, 4, 5}, 5) > 0.5, kIgnoredClass);
  ExpectAsAlone(LossKind::kCrossEntropy, Numbers({kLossTrials, 4, 7, 5}, 1), targets,
                {CrossEntropyOf()});
  const LossInput nothing{.output = Stacked(Numbers({2, 4, 7}, 1)),
                          .target = Shared(at::full({4}, kIgnoredClass, at::kLong)),
                          .trials = 2};
  EXPECT_TRUE(LossOfTrials(LossKind::kCrossEntropy, nothing)->isnan().all().item().toBool());
}

TEST_F(LossTest, NllIsThatOfPyTorch) {
  const OneLoss alone = [](const at::Tensor& output, const at::Tensor& target) {
    return at::nll_loss_nd(output, target);
  };
  const at::Tensor outputs = Numbers({kLossTrials, 4, 7, 5}, 1).log_softmax(2);
  ExpectAsAlone(LossKind::kNll, outputs, TestClasses({kLossTrials, 4, 5}, 7), {alone});
}

TEST_F(LossTest, LossesOfElementsAreThoseOfPyTorch) {
  const at::Tensor outputs = Numbers({kLossTrials, 4, 3}, 1).mul(2);
  const at::Tensor targets = Numbers({kLossTrials, 4, 3}, 2);
  const auto alone = [](auto loss) {
    return std::vector<OneLoss>{[loss](const at::Tensor& output, const at::Tensor& target) {
      return loss(output, target);
    }};
  };
  ExpectAsAlone(LossKind::kMse, outputs, targets,
                alone([](const auto& x, const auto& y) { return at::mse_loss(x, y); }));
  ExpectAsAlone(LossKind::kL1, outputs, targets,
                alone([](const auto& x, const auto& y) { return at::l1_loss(x, y); }));
  ExpectAsAlone(LossKind::kSmoothL1, outputs, targets,
                alone([](const auto& x, const auto& y) { return at::smooth_l1_loss(x, y); }));
  const auto binary = alone([](const at::Tensor& x, const at::Tensor& y) {
    return at::binary_cross_entropy_with_logits(x, y.to(at::kDouble));
  });
  ExpectAsAlone(LossKind::kBinaryCrossEntropy, outputs, targets.sigmoid(), binary);
  ExpectAsAlone(LossKind::kBinaryCrossEntropy, outputs, targets > 0, binary);
  ExpectAsAlone(LossKind::kBinaryCrossEntropy, outputs, (targets > 0).to(at::kLong), binary);
}

TEST_F(LossTest, TargetsWithoutADimensionOfOneAreNotBroadcast) {
  const OneLoss alone = [](const at::Tensor& output, const at::Tensor& target) {
    return at::mse_loss(output, target.unsqueeze(-1));
  };
  ExpectAsAlone(LossKind::kMse, Numbers({kLossTrials, 4, 1}, 1), Numbers({kLossTrials, 4}, 2),
                {alone});
}

TEST_F(LossTest, ReturnedLossIsAsItIs) {
  const at::Tensor losses = Numbers({kLossTrials}, 1);
  const LossInput input{.output = Stacked(losses), .target = {}, .trials = kLossTrials};
  EXPECT_TRUE(LossOfTrials(LossKind::kReturned, input)->equal(losses));
  const LossInput with_dimension{
      .output = Stacked(losses.view({1, kLossTrials}), 1), .target = {}, .trials = kLossTrials};
  EXPECT_TRUE(LossOfTrials(LossKind::kReturned, with_dimension)->equal(losses));
  EXPECT_FALSE(LossOfTrials(LossKind::kReturned,
                            {.output = Stacked(Numbers({2, 3}, 1)), .target = {}, .trials = 2}));
}

TEST_F(LossTest, NanOfOneTrialTouchesNoOther) {
  at::Tensor outputs = Numbers({kLossTrials, 4, 7}, 1);
  outputs[1].fill_(std::nan(""));
  outputs.requires_grad_();
  for (const LossKind kind : {LossKind::kCrossEntropy, LossKind::kMse}) {
    const bool classes = kind == LossKind::kCrossEntropy;
    const LossInput input{.output = Stacked(outputs),
                          .target = Shared(classes ? TestClasses({4}, 7) : Numbers({4, 7}, 2)),
                          .trials = kLossTrials};
    const auto losses = LossOfTrials(
        kind, input, classes ? std::vector<double>{0.1, 0.2, 0} : std::vector<double>{});
    outputs.mutable_grad().reset();
    losses->sum().backward();
    for (const std::int64_t trial : {0, 2}) {
      EXPECT_FALSE((*losses)[trial].isnan().item().toBool());
      EXPECT_FALSE(outputs.grad()[trial].isnan().any().item().toBool());
    }
    EXPECT_TRUE((*losses)[1].isnan().item().toBool());
  }
}

TEST_F(LossTest, HalfPrecisionIsWidened) {
  const at::Tensor outputs = Numbers({2, 4, 7}, 1).to(at::kBFloat16);
  const LossInput input{
      .output = Stacked(outputs), .target = Shared(TestClasses({4}, 7)), .trials = 2};
  const auto losses = LossOfTrials(LossKind::kCrossEntropy, input);
  EXPECT_EQ(losses->scalar_type(), at::kFloat);
  const at::Tensor expected = CrossEntropyOf()(outputs[1].to(at::kFloat), input.target.tensor);
  EXPECT_LE(Difference((*losses)[1], expected), 1e-6);
}

TEST_F(LossTest, EveryNameHasALoss) {
  for (const std::string& name : model::Losses()) EXPECT_TRUE(LossKindOf(name)) << name;
  const auto unknown = LossKindOf("mean_square");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("cross_entropy"));
}

struct LossMisfit {
  LossKind kind;
  at::Tensor output, target;
  std::string says;
};

TEST_F(LossTest, RefusesWhatDoesNotFit) {
  const at::Tensor scores = Numbers({2, 4, 7}, 1);
  const LossMisfit misfits[] = {
      {LossKind::kCrossEntropy, scores, TestClasses({5}, 7),
       "cross_entropy: expected targets [4] for an output [4, 7], found Long [5]"},
      {LossKind::kCrossEntropy, Numbers({2, 4, 7, 5}, 1), TestClasses({4}, 7),
       "expected targets [4, 7] or [4, 5] for an output [4, 7, 5], found Long [4]"},
      {LossKind::kCrossEntropy, scores, Numbers({4}, 7), "found Double [4]"},
      {LossKind::kNll, scores, Numbers({4, 7}, 7), "nll: expected targets [4]"},
      {LossKind::kCrossEntropy, Numbers({2, 4}, 1), TestClasses({4}, 7),
       "expected an output with a score for each class"},
      {LossKind::kCrossEntropy, scores, at::full({4}, 7, at::kLong), "Target 7 is out of bounds"},
      {LossKind::kCrossEntropy, scores, at::full({4}, -1, at::kLong), "Target -1 is out of bounds"},
      {LossKind::kCrossEntropy, scores, {}, "cross_entropy: expected targets, found none"},
      {LossKind::kMse, scores, Numbers({7, 4}, 1),
       "mse: expected targets [4, 7], as the output, found [7, 4]"},
  };
  for (const LossMisfit& each : misfits) {
    const auto losses = LossOfTrials(
        each.kind, {.output = Stacked(each.output), .target = Shared(each.target), .trials = 2});
    ASSERT_FALSE(losses) << each.says;
    EXPECT_EQ(losses.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(losses.error().message, HasSubstr(each.says));
  }
}

}  // namespace
}  // namespace sluice::train
