#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::model {

// Limits of the programs that can be read.
constexpr std::size_t kMaxProgramBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxValues = 8 * kMaxNodes;
constexpr std::size_t kMaxRank = 64;
constexpr int kMaxRegionDepth = 16;
// The largest size of a dimension, and the most elements of a stored tensor.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
// The most elements of a computed tensor.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

}  // namespace sluice::model
