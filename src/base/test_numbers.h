#pragma once

// For tests: numbers that no program should report, although some do.

#include <limits>

namespace sluice {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace sluice
