#pragma once

#include <cstdlib>

namespace sluice {

// Whether long ensembles run in full, as under `make soak`, or only a part of them, as under `make
// test`.
inline bool Soaks() { return std::getenv("SLUICE_SOAK") != nullptr; }

}  // namespace sluice
