#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Bugs planted on purpose, one switched on at a time, so that the simulator can show that it finds
// them. Only a build for that (CMake's SLUICE_PLANTED_BUGS) has them; everywhere else `Planted` is
// false when compiled, and what depends on it is not there.
#ifdef SLUICE_PLANTED_BUGS

// All there are, with what is wrong in each.
struct PlantedBug {
  std::string_view name;
  std::string_view what;
};
const std::vector<PlantedBug>& PlantedBugs();

// Switches one on, and the others off. An empty name: none.
void PlantBug(std::string_view name);

bool Planted(std::string_view name);

#else

constexpr bool Planted(std::string_view) { return false; }

#endif

}  // namespace sluice
