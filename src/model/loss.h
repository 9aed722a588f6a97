#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace sluice::model {

// What is made small in training: "returned" where the network computes it itself, otherwise a function of its first
// output and the targets.
std::span<const std::string> Losses();

// Fails with invalid_argument on a name that is no loss, and on one that does not fit what the network returns, with
// what would.
Status CheckLoss(const Graph& graph, std::string_view loss);

}  // namespace sluice::model
