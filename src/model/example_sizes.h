#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
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

// The elements of examples, as data has them.
struct ExampleElements {
  std::string_view type;  // "uint8"
  bool whole = false;     // the network is given int64; else floating-point numbers
};

// Fails with invalid_argument, "data: expected floating-point inputs, ...", if the network takes
// whole numbers and is given others, or the other way round. `network` is its name.
Status CheckElements(const Graph& graph, std::string_view network, const ExampleElements& given);

// How many examples each batch has to have; nothing if any number will do, or if it is not known.
std::optional<std::int64_t> FixedBatch(const Graph& graph);

// What a network is given.
struct Batching {
  std::int64_t batch = 0;
  std::int64_t training_examples = 0;
  std::int64_t evaluation_examples = 0;  // 0: it is not evaluated
};

// Fails with invalid_argument unless a network of this fixed batch is given batches of that size
// only. The message begins with "train.batch: " or "data: ". `network` is its name.
Status CheckBatching(std::int64_t fixed_batch, std::string_view network, const Batching& given);

}  // namespace sluice::model
