#pragma once

#include <cstdint>
#include <optional>

#include "sim/read/scenario.h"
#include "sim/simulation.h"

namespace sluice {

// The least that the work of a run takes.
struct Bound {
  double seconds = 0;      // from the first arrival
  std::uint64_t work = 0;  // a digest of what was done: runs that did other work have other bounds
};

// On these devices, with what the studies say a trial takes, no policy does the work of this run's trials any sooner.
// By true speeds, which no policy knows, and as if starting, saving and moving cost nothing.
//
// Nothing where another policy might do other work: with a deadline, a target, a stopper whose verdicts depend on who
// comes first, or trials that failed. And nothing where no bound is known: devices that are lent, nodes that go
// down, trials that are fused, or of a fixed width of several devices or of cores; elastic trials beside others, on
// devices of several kinds, or with several speed curves.
std::optional<Bound> WorkBound(const Scenario& scenario, const SimulationResult& result);

}  // namespace sluice
