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

// All runs of one policy, a seed each, the seeds from 1 on.
struct PolicyRuns {
  // What the scenario calls it: the policy's name, unless it says otherwise.
  std::string label;
  std::string policy;
  std::vector<RunMetrics> runs;
  std::vector<std::uint64_t> digests;
  std::vector<std::optional<Bound>> bounds;  // on the makespan of each run
};

// What a scenario is: its cluster, its studies, how they differ between the policies that are
// compared, the pipeline jobs and the bubbles they have.
std::string DescribeScenario(const Scenario& scenario,
                             const std::vector<LabelledScenario>& compared, int seeds,
                             const Terminal& terminal);

// A line for each policy, then a line for each study under each policy: means over the seeds with
// their 95 % intervals. Between them the bound on the makespan, where there is one.
std::string SimulationTables(const Scenario& scenario, const std::vector<PolicyRuns>& policies,
                             const Terminal& terminal);

// The same and more as a JSON object on one line.
std::string SimulationJson(const Scenario& scenario, const std::vector<PolicyRuns>& policies);

}  // namespace sluice
