#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Bugs planted on purpose, one switched on at a time, so that the simulator can show that it finds
// them. Only a build for that purpose (CMake's SLUICE_PLANTED_BUGS) has them. In every other build
// `Planted` is false at compile time, and the code that depends on it is not there.
#ifdef SLUICE_PLANTED_BUGS

// All planted bugs, each with what is wrong.
struct PlantedBug {
  std::string_view name;
  std::string_view what;
};
const std::vector<PlantedBug>& PlantedBugs();

// Switches this bug on and all others off. An empty name switches all off.
void PlantBug(std::string_view name);

bool Planted(std::string_view name);

#else

constexpr bool Planted(std::string_view) { return false; }

#endif

}  // namespace sluice
