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

// How many times kFloat32Rounding a gradient may differ.
constexpr double kGradientRoundings = 1024;

inline double NormOf(const at::Tensor& tensor) {
  return (tensor.is_complex() ? at::view_as_real(tensor) : tensor)
      .to(at::kDouble)
      .norm()
      .item()
      .toDouble();
}

// One step of SGD with momentum from equal states, in a bundle and alone. What is told of each
// tensor is its difference as a part of the bound.
inline Result<std::vector<LawDifference>> StepInFloat32(
    const LawShape& shape, const std::shared_ptr<const PreparedNetwork>& network) {
  constexpr int kTrials = 3;
  Group bundle = LawGroup(network);
  std::vector<MemberId> members;
  for (int trial = 0; trial < kTrials; ++trial) {
    // The last one is behind, so that not all trials have one batch.
    if (trial == kTrials - 1) SLUICE_TRY(bundle.Step());
    SLUICE_ASSIGN(const MemberId member,
                  bundle.Join(LawRecipe(shape, trial + 1), LawSeed(trial), std::nullopt));
    members.push_back(member);
  }
  for (int step = 0; step < 3; ++step) SLUICE_TRY(bundle.Step());
  std::vector<TrialState> before;
  for (const MemberId member : members) before.push_back(bundle.StateOf(member));
  SLUICE_TRY(bundle.Step());
  std::vector<LawDifference> differences;
  for (int trial = 0; trial < kTrials; ++trial) {
    const recipe::TrialRecipe recipe = LawRecipe(shape, trial + 1);
    Group group = LawGroup(network);
    SLUICE_ASSIGN(const MemberId member, group.Join(recipe, LawSeed(trial), before[trial]));
    SLUICE_TRY(group.Step());
    const TrialState alone = group.StateOf(member), found = bundle.StateOf(members[trial]);
    const std::vector<at::Tensor>& moments = before[trial].moment1;
    double squares = 0;  // of what the step adds to the moments
    for (std::size_t i = 0; i < moments.size(); ++i)
      if (moments[i].defined())
        squares += std::pow(NormOf(alone.moment1[i].to(at::kDouble) -
                                   recipe.optimizer.momentum * moments[i].to(at::kDouble)),
                            2);
    const double gradient_bound = kGradientRoundings * kFloat32Rounding * std::sqrt(squares);
    for (std::size_t i = 0; i < alone.parameters.size(); ++i) {
      if (!alone.parameters[i].defined()) continue;
      const std::string& name = network->graph().parameters[i].name;
      const auto note = [&](const at::Tensor& one, const at::Tensor& other, double bound,
                            const std::string& what) {
        const double distance = NormOf(one - other);
        differences.push_back(
            {std::to_string(trial) + what, name, distance == 0 ? 0 : distance / bound});
      };
      const double size = NormOf(alone.parameters[i]);
      if (!moments[i].defined()) {
        const auto count = static_cast<double>(alone.parameters[i].numel());
        note(found.parameters[i], alone.parameters[i],
             kGradientRoundings * kFloat32Rounding * std::max(size, std::sqrt(count) / 10),
             " buffer");
        continue;
      }
      const double moment_bound = gradient_bound + 4 * kFloat32Rounding * NormOf(alone.moment1[i]);
      note(found.moment1[i], alone.moment1[i], moment_bound, " moment");
      note(found.parameters[i], alone.parameters[i],
           recipe.optimizer.lr * moment_bound + 4 * kFloat32Rounding * size, " weight");
    }
  }
  return differences;
}

// Trials that differ in their seeds alone, in a bundle and alone. What is told of each is how far
// the mean loss of its last steps is from what it is alone, as a part of the standard deviation
// which that mean has over the seeds.
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
      SLUICE_ASSIGN(const std::vector<Group::Trained> trained, group.Step());
      for (std::size_t i = 0; i < means.size(); ++i)
        if (step >= kLawSteps - kLastSteps) means[i] += trained[i].loss / kLastSteps;
    }
    return means;
  };
  std::vector<int> all;
  std::vector<double> alone;
  double sum = 0, squares = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    all.push_back(trial);
    SLUICE_ASSIGN(const std::vector<double> loss, losses_of({trial}));
    alone.push_back(loss[0]);
    sum += loss[0];
  }
  for (const double loss : alone) squares += std::pow(loss - sum / kTrials, 2);
  const double deviation = std::sqrt(squares / (kTrials - 1));
  SLUICE_ASSIGN(const std::vector<double> together, losses_of(all));
  std::vector<LawDifference> differences;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double rounding = kGradientRoundings * kFloat32Rounding * std::abs(alone[trial]);
    differences.push_back(
        {std::to_string(trial), "loss",
         std::abs(together[trial] - alone[trial]) / std::max(deviation, rounding)});
  }
  return differences;
}

}  // namespace sluice::train
