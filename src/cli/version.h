#pragma once

namespace sluice {

// The version in CMakeLists.txt; tests/e2e/test_commands.py holds them together.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace sluice
