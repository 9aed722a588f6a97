#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "recipe/trial_recipe.h"
#include "train/bundle/group.h"

namespace sluice::train {

// Whether trials that are trained together become what they become alone.
struct FusedCheck {
  // ||a - b|| / max(||b||, sqrt(n) / 10) of the tensor of n elements in which a trial of the bundle
  // (a) and the same trial alone (b) differ the most.
  double difference = 0;
  std::string tensor;  // its name
  bool equal = true;   // the difference is at most kFusedBound
};

constexpr double kFusedBound = 1e-10;

// Trains three trials for some steps in one bundle and each alone, in float64, on numbers that are
// drawn: one trial joins later. Fails if the network cannot be opened or trained.
Result<FusedCheck> CheckFused(const std::string& network, double scale = 1);

// The differences of two states of one trial, as in FusedCheck, in the order of the parameters.
std::vector<double> DifferencesOf(const TrialState& one, const TrialState& other);
// The largest of them.
FusedCheck CompareStates(const model::Graph& graph, const TrialState& one, const TrialState& other);

}  // namespace sluice::train
