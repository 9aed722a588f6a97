#pragma once

#include <cstdlib>

namespace sluice {

// Whether tests with many seeds run all of them (`make soak`) or only a part (`make test`).
inline bool Soaks() { return std::getenv("SLUICE_SOAK") != nullptr; }

}  // namespace sluice
