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
// devices, with the resources that the studies ask for. It is worked out from true speeds, which no
// policy knows, and as if starting, saving and moving cost nothing.
//
// There is no bound where another policy might do other work: with a deadline, a target, a study
// that transfers, a stopper with verdicts that depend on which trial comes first, or trials that
// failed. There is none either where no bound is known: with lent devices, nodes that go down,
// fused trials, or trials with a fixed width of several devices or of cores; with elastic trials
// beside others, on devices of several kinds, or with several speed curves.
std::optional<Bound> WorkBound(const Scenario& scenario, const SimulationResult& result);

}  // namespace sluice
