#pragma once

namespace sluice {

// Must be the version in CMakeLists.txt; tests/e2e/test_commands.py checks that it is.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace sluice
