#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace sluice::model {

// The losses that training can minimise: "returned" if the network computes its loss itself,
// otherwise a function of the first output of the network and the targets.
std::span<const std::string> Losses();

// Fails with invalid_argument if there is no such loss, or if it does not fit what the network
// returns. The message says what would fit.
Status CheckLoss(const Graph& graph, std::string_view loss);

}  // namespace sluice::model
