#pragma once

// For tests: studies, and scenarios that run to their end.

#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/time.h"
#include "sim/simulation.h"
#include "sim/test_scenario.h"

namespace sluice {

// The result of a run that is known to reach its end.
inline SimulationResult Completed(Result<SimulationResult> result) {
  SLUICE_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
  return *std::move(result);
}

inline SimulationResult Played(const Scenario& scenario, const std::string& policy = "fifo",
                               std::uint64_t seed = 1) {
  return Completed(Simulate(scenario, {.policy = policy, .seed = seed, .record_intervals = true}));
}

// A study, as an entry of a scenario. `more` has further keys, such as its resources.
inline std::string Entry(const std::string& workload, const std::string& more = "",
                         const std::string& name = "a") {
  return "  - study: " + name + R"(
    space: {lr: {float: [1e-4, 1], log: true}, width: {int: [1, 64]}}
    objective: {maximize: accuracy}
    sampler: random
)" + more +
         "    workload: {" + workload + "}\n";
}

inline double SecondsOf(Time time) { return Seconds(time - Time{}); }

inline int Count(const StudyResult& study, TrialState state) {
  return study.counts[static_cast<std::size_t>(state)];
}

}  // namespace sluice
