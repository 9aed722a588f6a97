#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/bundle/test_law.h"

// What the law means in float32, where rounding is as large as what a step may show.
namespace sluice::train {

// Half a unit in the last place of 1.
constexpr double kFloat32Rounding = 0x1p-24;

// How many roundings of its size, all tensors together, a gradient in a bundle may differ from that
// alone. The two round the same sums in another order. Errors of rounding have either sign, so that
// a sum of K terms errs by about sqrt(K) roundings of a term's size, and L operators in a row by
// sqrt(L) times that. 2^10 is sqrt(K L) for sums of 4096 terms in 256 operators forth and back. A
// network that subtracts numbers which are almost equal multiplies the errors, and may exceed it.
constexpr double kGradientRoundings = 1024;

// In float64; a complex number as a pair of real ones.
inline at::Tensor Widened(const at::Tensor& tensor) {
  return (tensor.is_complex() ? at::view_as_real(tensor) : tensor).to(at::kDouble);
}

inline double NormOf(const at::Tensor& tensor) { return tensor.norm().item().toDouble(); }

// One step of SGD with momentum from equal states, in a bundle and alone. What is told of each
// tensor is its difference ||a - b|| as a part of the bound, with u = kFloat32Rounding, g the
// gradients of all tensors, m the tensor's momentum and w the tensor after the step:
//
//   momentum  ||a - b|| <= 2^10 u ||g|| + 4 u ||m||         the gradient's error, and the roundings
//                                                           of two operations in either program
//   weight    ||a - b|| <= lr (the bound of m) + 4 u ||w||
//   buffer    ||a - b|| <= 2^10 u max(||b||, sqrt(n) / 10)  n its elements: the error of a forward
//                                                           pass
//
// Adam's step from a state is a function of the gradient that has the same bits in every bundle
// (Update in train/update/optimizer.h). So the bound of g is all that is to be held there. Its
// weights have no bound of this form: where a gradient is 0 but for rounding, Adam's step is up to
// lr in either direction, in PyTorch as well.
inline Result<std::vector<LawDifference>> StepInFloat32(
    const LawShape& shape, const std::shared_ptr<const PreparedNetwork>& network) {
  constexpr int kTrials = 3;
  Group bundle = LawGroup(network);
  std::vector<MemberId> members;
  for (int trial = 0; trial < kTrials; ++trial) {
    // The last one is behind, so that not all trials have one batch.
    if (trial == kTrials - 1) SLUICE_TRY(StepAll(bundle));
    SLUICE_ASSIGN(const MemberId member,
                  bundle.Join(LawRecipe(shape, trial + 1), LawSeed(trial), std::nullopt));
    members.push_back(member);
  }
  for (int step = 0; step < 3; ++step) SLUICE_TRY(StepAll(bundle));
  std::vector<TrialState> before;
  for (const MemberId member : members) before.push_back(bundle.StateOf(member));
  SLUICE_TRY(StepAll(bundle));
  std::vector<LawDifference> differences;
  for (int trial = 0; trial < kTrials; ++trial) {
    const recipe::TrialRecipe recipe = LawRecipe(shape, trial + 1);
    Group group = LawGroup(network);
    SLUICE_ASSIGN(const MemberId member, group.Join(recipe, LawSeed(trial), before[trial]));
    SLUICE_TRY(StepAll(group));
    const TrialState alone = group.StateOf(member), found = bundle.StateOf(members[trial]);
    const std::vector<at::Tensor>& moments = before[trial].moment1;
    double squares = 0;  // of what the step adds to the moments
    for (std::size_t i = 0; i < moments.size(); ++i)
      if (moments[i].defined())
        squares += std::pow(
            NormOf(Widened(alone.moment1[i]) - recipe.optimizer.momentum * Widened(moments[i])), 2);
    const double gradient_bound = kGradientRoundings * kFloat32Rounding * std::sqrt(squares);
    for (std::size_t i = 0; i < alone.parameters.size(); ++i) {
      if (!alone.parameters[i].defined()) continue;
      const std::string& name = network->graph().parameters[i].name;
      const auto note = [&](const at::Tensor& one, const at::Tensor& other, double bound,
                            const std::string& what) {
        const double distance = NormOf(Widened(one) - Widened(other));
        differences.push_back(
            {std::to_string(trial) + what, name, distance == 0 ? 0 : distance / bound});
      };
      const double size = NormOf(Widened(alone.parameters[i]));
      if (!moments[i].defined()) {
        const auto count = static_cast<double>(alone.parameters[i].numel());
        note(found.parameters[i], alone.parameters[i],
             kGradientRoundings * kFloat32Rounding * std::max(size, std::sqrt(count) / 10),
             " buffer");
        continue;
      }
      const double moment_bound =
          gradient_bound + 4 * kFloat32Rounding * NormOf(Widened(alone.moment1[i]));
      note(found.moment1[i], alone.moment1[i], moment_bound, " moment");
      note(found.parameters[i], alone.parameters[i],
           recipe.optimizer.lr * moment_bound + 4 * kFloat32Rounding * size, " weight");
    }
  }
  return differences;
}

// Trials that differ in their seeds alone, in a bundle and alone. What is told of each is how far
// the mean loss of its last steps is from what it is alone, as a part of the spread of that mean:
// from the smallest to the largest of the seeds.
inline Result<std::vector<LawDifference>> RunsInFloat32(
    const LawShape& shape, const std::shared_ptr<const PreparedNetwork>& network) {
  constexpr int kTrials = 4;
  constexpr std::int64_t kLastSteps = 5;
  const recipe::TrialRecipe recipe = LawRecipe(shape, 1);
  const auto losses_of = [&](const std::vector<int>& trials) -> Result<std::vector<double>> {
    Group group = LawGroup(network);
    for (const int trial : trials) SLUICE_TRY(group.Join(recipe, LawSeed(trial), std::nullopt));
    std::vector<double> means(trials.size());
    for (std::int64_t step = 0; step < kLawSteps; ++step) {
      const std::vector<Group::Trained> trained = group.Step();
      for (std::size_t i = 0; i < means.size(); ++i)
        if (step >= kLawSteps - kLastSteps) means[i] += trained[i].loss / kLastSteps;
    }
    return means;
  };
  std::vector<int> all;
  std::vector<double> alone;
  for (int trial = 0; trial < kTrials; ++trial) {
    all.push_back(trial);
    SLUICE_ASSIGN(const std::vector<double> loss, losses_of({trial}));
    alone.push_back(loss[0]);
  }
  const double spread = *std::ranges::max_element(alone) - *std::ranges::min_element(alone);
  SLUICE_ASSIGN(const std::vector<double> together, losses_of(all));
  std::vector<LawDifference> differences;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double rounding = kGradientRoundings * kFloat32Rounding * std::abs(alone[trial]);
    differences.push_back({std::to_string(trial), "loss",
                           std::abs(together[trial] - alone[trial]) / std::max(spread, rounding)});
  }
  return differences;
}

}  // namespace sluice::train
