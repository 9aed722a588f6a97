#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/evaluate/comparison.h"
#include "model/evaluate/metrics.h"
#include "recipe/trial_recipe.h"
#include "train/measure/losses.h"
#include "train/program.h"
#include "train/state/trained_network.h"
#include "train/state/trial_state.h"
#include "train/update/optimizer.h"

namespace sluice::train {

// A network, prepared to be trained and evaluated for all trials of one shape.
class PreparedNetwork {
 public:
  // Reads or builds the network that the recipe names, makes it narrower as the recipe says, and
  // prepares it. Fails with invalid_argument if one of these cannot be done.
  static Result<std::shared_ptr<const PreparedNetwork>> Open(const recipe::TrialRecipe& shape);
  // The same for a network that was opened, and that is evaluated so.
  static Result<std::shared_ptr<const PreparedNetwork>> Prepare(
      TrainedNetwork network, const recipe::TrialRecipe& shape,
      const model::EvaluationPlan& evaluation = {});

  const TrainedNetwork& network() const { return network_; }
  const model::Graph& graph() const { return network_.graph; }
  at::ScalarType real() const { return real_; }
  LossKind loss() const { return loss_; }

  // For trials that share the batch, and for trials that each have their own.
  const Program& together() const { return together_; }
  const Program& apart() const { return apart_; }
  // For evaluation, where the batch is shared. The training graph itself if the recipe says so.
  const Program& evaluation() const { return evaluation_; }
  model::EvaluationPlan::By evaluates_by() const { return evaluates_by_; }
  // What can be measured in an evaluation. If the scores and classes of a network that returns its
  // loss are known, the last two outputs of the evaluation are these.
  const model::Metrics& metrics() const { return metrics_; }
  // Nodes that drop elements, with the paths of their modules.
  const std::vector<DropoutNode>& dropout_nodes() const { return dropout_nodes_; }
  // What the user should know: how the network is evaluated if that is not certain, and which
  // operators run trial by trial.
  const std::vector<std::string>& notes() const { return notes_; }

  // Parameters that are trained: their places, tied ones once. And what multiplies their settings.
  const std::vector<std::size_t>& trained() const { return trained_; }
  const std::vector<Factors>& factors() const { return factors_; }
  // Parameters and buffers that each trial has its own of.
  bool stacked(std::size_t parameter) const { return together_.stacked(parameter); }
  // A parameter that all trials share.
  const at::Tensor& shared(std::size_t parameter) const { return shared_[parameter]; }
  // Whether the number of examples in a batch is fixed by the network.
  bool batch_is_fixed() const { return batch_is_fixed_; }

  // The state with which a trial begins.
  Result<TrialState> InitialState(std::uint64_t trial_seed) const;
  // Fails with invalid_argument unless a trial of this network can go on from the state. Moments
  // that are missing are those of a trial that has had no update.
  Status Complete(TrialState& state) const;

 private:
  PreparedNetwork(TrainedNetwork network, Program together, Program apart, Program evaluation);

  TrainedNetwork network_;
  Program together_;
  Program apart_;
  Program evaluation_;
  model::EvaluationPlan::By evaluates_by_ = model::EvaluationPlan::By::kEvaluationGraph;
  model::Metrics metrics_;
  at::ScalarType real_ = at::kFloat;
  LossKind loss_ = LossKind::kReturned;
  int moments_ = 0;
  std::vector<DropoutNode> dropout_nodes_;
  std::vector<std::string> notes_;
  std::vector<std::size_t> trained_;
  std::vector<Factors> factors_;  // in the order of trained()
  std::vector<at::Tensor> shared_;
  bool batch_is_fixed_ = false;
};

// The rate of dropout that a recipe sets for a node: that of the longest path which the node's
// module lies in, that of all nodes, or the node's own.
double RateOfDropout(const recipe::TrialRecipe& recipe, const DropoutNode& node);

}  // namespace sluice::train
