#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/graph.h"

namespace sluice::model {

// How a network takes an example: as its first input without the batch.
enum class Takes : std::uint8_t {
  kAsItIs,
  kFlattened,  // the network takes a vector of as many elements
  kNot,
};

// Sizes that the inputs decide fit any.
Takes HowItTakes(const Graph& graph, std::span<const std::int64_t> example);

// "1, 28, 28": the sizes of an example that the network takes.
std::string SizesItTakes(const Graph& graph);

}  // namespace sluice::model
