#include "train/check/fused.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "train/check/drawn_batches.h"

namespace sluice::train {
namespace {

constexpr int kTrials = 3;
constexpr int kFusedSteps = 5;
constexpr int kLateStep = 2;  // at which the last trial joins

recipe::TrialRecipe FusedRecipe(const std::string& network, double scale, int trial) {
  recipe::TrialRecipe recipe;
  recipe.network = network;
  recipe.scale = scale;
  recipe.precision = recipe::Precision::kFloat64;
  recipe.keep_readout = true;
  recipe.batch = DrawnBatches::kBatch;
  recipe.optimizer.kind = recipe::OptimizerKind::kAdamW;
  recipe.optimizer.lr = 0.001 * (trial + 1);
  recipe.optimizer.weight_decay = 0.1 * trial;
  return recipe;
}

double DistanceOf(const at::Tensor& one, const at::Tensor& other) {
  if (!one.defined() || !other.defined()) return one.defined() == other.defined() ? 0 : INFINITY;
  if (other.numel() == 0) return 0;
  const auto wide = [](const at::Tensor& tensor) {
    return tensor.is_complex() ? at::view_as_real(tensor).to(at::kDouble) : tensor.to(at::kDouble);
  };
  const double distance = (wide(one) - wide(other)).norm().item().toDouble();
  const double size = wide(other).norm().item().toDouble();
  return distance / std::max(size, std::sqrt(static_cast<double>(other.numel())) / 10);
}

}  // namespace

std::vector<double> DifferencesOf(const TrialState& one, const TrialState& other) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < one.parameters.size(); ++i)
    differences.push_back(DistanceOf(one.parameters[i], other.parameters[i]));
  return differences;
}

FusedCheck CompareStates(const model::Graph& graph, const TrialState& one,
                         const TrialState& other) {
  FusedCheck check;
  const std::vector<double> differences = DifferencesOf(one, other);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double difference = differences[i];
    if (!(difference > check.difference) && !std::isnan(difference)) continue;
    check.difference = difference;
    check.tensor = graph.parameters[i].name;
  }
  check.equal = check.difference <= kFusedBound;
  return check;
}

Result<FusedCheck> CheckFused(const std::string& name, double scale) {
  const recipe::TrialRecipe shape = FusedRecipe(name, scale, 0);
  SLUICE_ASSIGN(TrainedNetwork opened, OpenTrainedNetwork(shape));
  ReturnSquares(opened.graph);
  SLUICE_ASSIGN(const auto network, PreparedNetwork::Prepare(std::move(opened), shape));
  const auto new_group = [&] {
    return Group(network, std::make_unique<DrawnBatches>(network->graph(), network->real()), {});
  };
  Group together = new_group();
  std::vector<MemberId> members;
  for (int step = 0; step < kFusedSteps; ++step) {
    const int trials = step < kLateStep ? kTrials - 1 : kTrials;
    while (static_cast<int>(members.size()) < trials) {
      const auto trial = static_cast<int>(members.size());
      SLUICE_ASSIGN(const MemberId member,
                    together.Join(FusedRecipe(name, scale, trial), trial, std::nullopt));
      members.push_back(member);
    }
    SLUICE_TRY(StepAll(together));
  }
  FusedCheck worst;
  for (int trial = 0; trial < kTrials; ++trial) {
    Group alone = new_group();
    SLUICE_ASSIGN(const MemberId member,
                  alone.Join(FusedRecipe(name, scale, trial), trial, std::nullopt));
    const TrialState found = together.StateOf(members[trial]);
    for (std::int64_t step = 0; step < found.step; ++step) SLUICE_TRY(StepAll(alone));
    const FusedCheck check = CompareStates(network->graph(), found, alone.StateOf(member));
    if (check.difference > worst.difference || std::isnan(check.difference)) worst = check;
  }
  return worst;
}

}  // namespace sluice::train
