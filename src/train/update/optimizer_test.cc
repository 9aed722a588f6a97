#include "train/update/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "train/test_graph.h"

namespace sluice::train {
namespace {

using recipe::OptimizerKind;

// What PyTorch's optimizers compute is checked by tests/train/test_updates.py. Here: what a bundle
// must not change.

struct UpdateForm {
  OptimizerKind kind = OptimizerKind::kSgd;
  bool nesterov = false;
  at::ScalarType type = at::kDouble;
};

const UpdateForm kUpdateForms[] = {{.kind = OptimizerKind::kSgd},
                                   {.kind = OptimizerKind::kSgd, .nesterov = true},
                                   {.kind = OptimizerKind::kAdam},
                                   {.kind = OptimizerKind::kAdamW},
                                   {.kind = OptimizerKind::kSgd, .type = at::kFloat},
                                   {.kind = OptimizerKind::kAdamW, .type = at::kFloat}};

// Sizes that fill vectors, and that do not.
const std::vector<std::vector<std::int64_t>> kUpdateSizes = {{64, 32}, {37}, {}, {3, 5, 7}};

TrialUpdate RandomTrial(const UpdateForm& form, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  const auto draw = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  TrialUpdate trial;
  recipe::OptimizerSettings& its = trial.settings;
  its.kind = form.kind;
  its.nesterov = form.nesterov;
  trial.lr = its.lr = std::pow(10, -3 + 2 * draw());
  its.momentum = seed % 3 == 0 && !form.nesterov ? 0 : draw();
  its.dampening = form.nesterov ? 0 : draw() / 2;
  its.beta1 = draw();
  its.beta2 = 0.9 + 0.1 * draw();
  its.eps = std::pow(10, -9 + 4 * draw());
  its.weight_decay = seed % 2 == 0 ? 0 : draw() / 10;
  if (seed % 4 < 2) its.clip_norm = 20 * draw();
  return trial;
}

// Trials by their seeds, wherever they are in a bundle.
struct TestBundle {
  TestBundle(const UpdateForm& form, const std::vector<std::uint64_t>& seeds)
      : form(form), seeds(seeds) {
    for (const std::uint64_t seed : seeds) trials.push_back(RandomTrial(form, seed));
    for (std::size_t which = 0; which < kUpdateSizes.size(); ++which) {
      TrainedTensor each;
      each.weight = Stack(which, 0);
      each.moment1 = at::zeros_like(each.weight);
      each.moment2 = at::zeros_like(each.weight);
      each.factors = {.lr = 1 + 0.5 * static_cast<double>(which), .decay = 0.5, .eps = 4};
      tensors.push_back(std::move(each));
    }
  }

  at::Tensor Stack(std::size_t which, std::uint64_t step) const {
    std::vector<at::Tensor> rows;
    for (const std::uint64_t seed : seeds)
      rows.push_back(Numbers(kUpdateSizes[which], seed * 1000 + step * 10 + which).to(form.type));
    return at::stack(rows);
  }
  void SetGradients() {
    ++steps;
    for (std::size_t which = 0; which < tensors.size(); ++which)
      tensors[which].gradient = Stack(which, steps);
  }
  void Count() {
    for (TrialUpdate& each : trials) ++each.step;
  }
  void Step() {
    SetGradients();
    Update(form.kind, form.nesterov, trials, tensors);
    Count();
  }
  void StepByOperators() {
    SetGradients();
    UpdateByOperators(form.kind, form.nesterov, trials, tensors);
    Count();
  }
  at::Tensor Weights(std::int64_t place) const {
    std::vector<at::Tensor> all;
    for (const TrainedTensor& each : tensors) all.push_back(each.weight.select(0, place).flatten());
    return at::cat(all);
  }

  UpdateForm form;
  std::vector<std::uint64_t> seeds;
  std::vector<TrialUpdate> trials;
  std::vector<TrainedTensor> tensors;
  std::uint64_t steps = 0;
};

TEST(OptimizerTest, TrialHasTheSameBitsInAnyBundle) {
  for (const UpdateForm& form : kUpdateForms) {
    const std::vector<std::uint64_t> seeds{1, 2, 3, 4, 5, 6, 7, 8, 9};
    TestBundle bundle(form, seeds);
    for (int step = 0; step < 5; ++step) bundle.Step();
    for (std::size_t place = 0; place < seeds.size(); ++place) {
      TestBundle alone(form, {seeds[place]});
      for (int step = 0; step < 5; ++step) alone.Step();
      EXPECT_TRUE(alone.Weights(0).equal(bundle.Weights(static_cast<std::int64_t>(place))))
          << static_cast<int>(form.kind) << " " << form.type << ", trial " << place;
    }
  }
}

TEST(OptimizerTest, NanOfOneTrialTouchesNoOther) {
  for (const UpdateForm& form : kUpdateForms) {
    TestBundle bundle(form, {1, 2, 3});
    TestBundle undisturbed(form, {1, 2, 3});
    for (int step = 0; step < 3; ++step) {
      bundle.SetGradients();
      const double bad = step == 1 ? std::numeric_limits<double>::infinity() : std::nan("");
      bundle.tensors[0].gradient.select(0, 1).fill_(bad);
      Update(form.kind, form.nesterov, bundle.trials, bundle.tensors);
      bundle.Count();
      undisturbed.Step();
    }
    EXPECT_TRUE(bundle.Weights(0).equal(undisturbed.Weights(0)));
    EXPECT_TRUE(bundle.Weights(2).equal(undisturbed.Weights(2)));
    EXPECT_TRUE(bundle.Weights(1).isnan().any().item().toBool());
  }
}

TEST(OptimizerTest, MomentsOfAFirstStepAreNotRead) {
  for (const UpdateForm& form : kUpdateForms) {
    TestBundle fresh(form, {1, 2});
    TestBundle left_over(form, {1, 2});
    for (TrainedTensor& each : left_over.tensors) {
      each.moment1.fill_(std::nan(""));
      each.moment2.fill_(std::numeric_limits<double>::infinity());
    }
    TestBundle by_operators(left_over);
    for (TrainedTensor& each : by_operators.tensors) {
      each.weight = each.weight.clone();
      each.moment1 = each.moment1.clone();
      each.moment2 = each.moment2.clone();
    }
    for (int step = 0; step < 2; ++step) {
      fresh.Step();
      left_over.Step();
      by_operators.StepByOperators();
    }
    EXPECT_TRUE(fresh.Weights(0).equal(left_over.Weights(0)));
    EXPECT_TRUE(fresh.Weights(1).equal(left_over.Weights(1)));
    EXPECT_LE(Difference(by_operators.Weights(1), fresh.Weights(1)), 1e-6);
  }
}

TEST(OptimizerTest, OperatorsComputeTheSame) {
  for (const UpdateForm& form : kUpdateForms) {
    TestBundle loops(form, {1, 2, 3, 4, 5});
    TestBundle operators(form, {1, 2, 3, 4, 5});
    for (int step = 0; step < 10; ++step) {
      loops.Step();
      operators.StepByOperators();
    }
    const double bound = form.type == at::kDouble ? 1e-13 : 1e-5;
    for (std::int64_t place = 0; place < 5; ++place)
      EXPECT_LE(Difference(loops.Weights(place), operators.Weights(place)), bound)
          << static_cast<int>(form.kind) << ", trial " << place;
  }
}

TEST(OptimizerTest, ParameterWithoutGradientStaysAsItIs) {
  for (const UpdateForm& form : kUpdateForms) {
    TestBundle bundle(form, {1, 3});
    const at::Tensor before = bundle.tensors[1].weight.clone();
    bundle.SetGradients();
    bundle.tensors[1].gradient.reset();
    Update(form.kind, form.nesterov, bundle.trials, bundle.tensors);
    UpdateByOperators(form.kind, form.nesterov, bundle.trials, bundle.tensors);
    EXPECT_TRUE(bundle.tensors[1].weight.equal(before));
    EXPECT_TRUE(bundle.tensors[1].moment1.equal(at::zeros_like(before)));
    for (TrainedTensor& each : bundle.tensors) each.gradient.reset();
    Update(form.kind, form.nesterov, bundle.trials, bundle.tensors);
    UpdateByOperators(form.kind, form.nesterov, bundle.trials, bundle.tensors);
  }
}

TEST(OptimizerTest, GradientsMayHaveGapsAndAreNotWritten) {
  for (const UpdateForm& form : kUpdateForms) {
    TestBundle dense(form, {0, 1});
    TestBundle strided(form, {0, 1});
    dense.SetGradients();
    strided.SetGradients();
    at::Tensor& gradient = strided.tensors[0].gradient;
    gradient = gradient.transpose(0, 2).contiguous().transpose(0, 2);
    ASSERT_FALSE(gradient.is_contiguous());
    const at::Tensor before = gradient.clone();
    Update(form.kind, form.nesterov, dense.trials, dense.tensors);
    Update(form.kind, form.nesterov, strided.trials, strided.tensors);
    EXPECT_TRUE(dense.Weights(1).equal(strided.Weights(1)));
    EXPECT_TRUE(gradient.equal(before));
  }
}

TEST(OptimizerTest, LeavesAreUpdatedInPlace) {
  TestBundle bundle({.kind = OptimizerKind::kAdam}, {1, 2});
  at::Tensor& weight = bundle.tensors[0].weight;
  weight.requires_grad_();
  const void* memory = weight.data_ptr();
  const auto version = weight._version();
  bundle.Step();
  EXPECT_EQ(weight.data_ptr(), memory);
  EXPECT_TRUE(weight.is_leaf() && weight.requires_grad());
  EXPECT_GT(weight._version(), version);
}

TEST(OptimizerTest, NormIsThatOfAllGradientsOfATrial) {
  // SGD with rate 1: a step is the clipped gradient.
  TrialUpdate trial;
  trial.lr = 1;
  trial.settings.clip_norm = 1;
  const std::vector<TrialUpdate> trials{trial, trial};
  std::vector<TrainedTensor> tensors(2);
  tensors[0].weight = at::zeros({2, 1}, at::kDouble);
  tensors[1].weight = at::zeros({2, 2}, at::kDouble);
  tensors[0].gradient = at::tensor({2.0, 0.125}, at::kDouble).view({2, 1});
  tensors[1].gradient = at::tensor({1.0, 2.0, 0.25, 0.25}, at::kDouble).view({2, 2});
  Update(OptimizerKind::kSgd, false, trials, tensors);
  EXPECT_DOUBLE_EQ(tensors[0].weight[0][0].item().toDouble(), -2 / (3 + 1e-6));
  EXPECT_DOUBLE_EQ(tensors[1].weight[0][1].item().toDouble(), -2 / (3 + 1e-6));
  EXPECT_DOUBLE_EQ(tensors[0].weight[1][0].item().toDouble(), -0.125);  // is below the norm
}

TEST(OptimizerTest, FactorsAreThoseOfTheKind) {
  model::ParameterPlan plan;
  plan.sgd_lr = 2;
  plan.adam_lr = 3;
  plan.sgd_decay = 5;
  plan.adamw_decay = 7;
  plan.adam_eps = 11;
  const auto expect = [&](OptimizerKind kind, double lr, double decay, double eps) {
    const Factors factors = FactorsOf(kind, plan);
    EXPECT_EQ(factors.lr, lr);
    EXPECT_EQ(factors.decay, decay);
    EXPECT_EQ(factors.eps, eps);
  };
  expect(OptimizerKind::kSgd, 2, 5, 1);
  expect(OptimizerKind::kAdam, 3, 5, 11);
  expect(OptimizerKind::kAdamW, 3, 7, 11);
}

}  // namespace
}  // namespace sluice::train
