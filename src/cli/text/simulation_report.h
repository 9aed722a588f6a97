#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/view/terminal.h"
#include "sim/metrics.h"
#include "sim/read/scenario.h"
#include "sim/work_bound.h"

namespace sluice {

// All runs of one policy: one run for each of the seeds 1, 2, ...
struct PolicyRuns {
  // The policy's name, unless the scenario gives it another name.
  std::string label;
  std::string policy;
  std::vector<RunMetrics> runs;
  std::vector<std::uint64_t> digests;
  std::vector<std::optional<Bound>> bounds;  // lower bounds on the makespan of each run
};

// Describes a scenario: its cluster, its studies, what differs between the compared policies, its
// failures of nodes, its pipeline jobs and their bubbles.
std::string DescribeScenario(const Scenario& scenario,
                             const std::vector<LabelledScenario>& compared, int seeds,
                             const Terminal& terminal);

// Two tables of means over the seeds, with 95 % intervals. The first has a line for each policy.
// The second has a line for each study under each policy. Between the tables is the lower bound on
// the makespan, if there is one.
std::string SimulationTables(const Scenario& scenario, const std::vector<PolicyRuns>& policies,
                             const Terminal& terminal);

// The same, with further figures, as a JSON object on one line.
std::string SimulationJson(const Scenario& scenario, const std::vector<PolicyRuns>& policies);

}  // namespace sluice
