#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/graph.h"
#include "model/shrink/parametrisation.h"

namespace sluice::model {

// How a network without one of its multipliers computes the same: some parameters are multiplied by
// a factor instead. Sums and products stay the same but for their rounding.
struct Folding {
  NodeId node{};  // of the multiplier, as are the next two
  std::string why;
  double factor = 1;                         // of the parameters
  std::vector<std::size_t> parameters = {};  // all of them; empty: the multiplier cannot be folded
  std::string why_not = {};                  // empty if it can
};

// A folding for each multiplier, in their order. `narrow` is the network without its multipliers. A
// multiplier can be folded into parameters that nothing else uses, through operators that pass a
// factor on: a change of layout, a product, a sum both of whose parts can be multiplied, an affine
// map.
std::vector<Folding> FoldMultipliers(const Graph& narrow, std::span<const Multiplier> multipliers);

}  // namespace sluice::model
