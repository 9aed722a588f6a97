#pragma once

#include <cstdint>
#include <optional>

#include "sim/read/scenario.h"
#include "sim/simulation.h"

namespace sluice {

// The least time that the work of a run takes.
struct Bound {
  double seconds = 0;      // from the first arrival
  std::uint64_t work = 0;  // a digest of the work: runs that did other work have other bounds
};

// A lower bound on the makespan of any policy that does the work of this run's trials on these
// devices, with the resources that the studies ask for. The bound uses the true speeds, which no
// policy knows, and assumes that starting, saving and moving cost nothing.
//
// Returns nullopt if another policy might do other work. This is so with a deadline, a target
// value, a study that transfers, a stopper whose verdicts depend on which trial comes first, or
// trials that failed. Also returns nullopt if no bound is known. This is so with
//
// - lent devices, nodes that go down, or fused trials;
// - trials of a fixed width of several devices, or of a fixed number of cores;
// - elastic trials together with others, on devices of several kinds, or with several speed curves.
std::optional<Bound> WorkBound(const Scenario& scenario, const SimulationResult& result);

}  // namespace sluice
