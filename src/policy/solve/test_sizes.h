#pragma once

// For tests: sizes of memory.

#include <cstdint>

namespace sluice {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

}  // namespace sluice
