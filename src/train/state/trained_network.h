#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph.h"
#include "model/shrink/folding.h"
#include "model/shrink/parametrisation.h"
#include "recipe/trial_recipe.h"
#include "train/torch.h"

namespace sluice::train {

// The network that trials of one shape train: the recipe's network, made narrower by the recipe's
// scale and parametrised by its rule.
struct TrainedNetwork {
  std::string name;  // as in the recipe: zoo:NAME or the path of an archive
  double scale = 1;
  // Of the names, sizes and types of the parameters and of the operators. It depends neither on the
  // path of the archive nor on the values in it.
  std::string fingerprint;
  model::Graph graph;  // what is trained: the narrower network with its multipliers
  std::vector<model::ParameterPlan> plans;   // in the order of the graph's parameters
  std::vector<model::Folding> foldings;      // of its multipliers
  std::vector<std::string> folding_modules;  // of each, the module whose node has the multiplier
  // Values that are read from the archive instead of being drawn, by the place of the parameter;
  // undefined: the parameter is drawn, or is tied to an earlier one.
  std::vector<at::Tensor> stored;
};

// Opens the recipe's network. Fails with invalid_argument or failed_precondition, in the words of
// the readers of networks; if a parameter can be neither drawn nor read; and if the machine has not
// enough memory for one trial's parameters. `init_from_archive` is refused for a narrower network
// and for networks of the zoo.
Result<TrainedNetwork> OpenTrainedNetwork(const recipe::TrialRecipe& recipe);

// PyTorch's type of trained parameters: float32 under autocast to bfloat16, too.
at::ScalarType RealOf(recipe::Precision precision);

// The tensors with which a trial begins, in the order of the graph's parameters, on the CPU. `real`
// stands for float32. Tied ones are undefined. Those that are neither trained nor constant are the
// network's own if their type is the same: they must not be written in place. float32 tensors are
// those of a float64 trial, rounded. Fails with out_of_memory.
Result<std::vector<at::Tensor>> InitialTensors(const TrainedNetwork& network,
                                               std::uint64_t trial_seed, at::ScalarType real);
// One of them, which is not tied.
Result<at::Tensor> InitialTensor(const TrainedNetwork& network, std::size_t parameter,
                                 std::uint64_t trial_seed, at::ScalarType real);

}  // namespace sluice::train
