#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Bugs that are planted on purpose, so that the fault simulation can show that it finds them. At
// most one is switched on at a time. Only a build for that purpose (CMake's SLUICE_PLANTED_BUGS)
// has planted bugs. In every other build `Planted` is false at compile time, so the code of the
// bugs is left out.
#ifdef SLUICE_PLANTED_BUGS

// A planted bug, and what is wrong when it is switched on.
struct PlantedBug {
  std::string_view name;
  std::string_view what;
  bool several = false;  // it shows only where there are several studies
};
const std::vector<PlantedBug>& PlantedBugs();

// Switches this bug on and all others off. An empty name switches all off.
void PlantBug(std::string_view name);

// Whether this bug is switched on.
bool Planted(std::string_view name);

#else

constexpr bool Planted(std::string_view) { return false; }

#endif

}  // namespace sluice
