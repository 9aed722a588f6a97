#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::model {

// What a program may be at most.
constexpr std::size_t kMaxProgramBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxValues = 8 * kMaxNodes;
constexpr std::size_t kMaxRank = 64;
constexpr int kMaxRegionDepth = 16;
// Of a dimension, and the elements of a tensor that is stored.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;  // of a tensor that is computed

}  // namespace sluice::model
