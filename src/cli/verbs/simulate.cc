#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/config_text.h"
#include "cli/new_file.h"
#include "cli/text/print.h"
#include "cli/text/simulation_report.h"
#include "cli/verbs/verb.h"
#include "cli/view/simulation_progress.h"
#include "sim/gantt.h"
#include "sim/metrics.h"
#include "sim/read/scenario.h"
#include "sim/simulation.h"
#include "sim/work_bound.h"

namespace sluice {
namespace {

constexpr std::string_view kSimulateHelp =
    R"(usage: sluice simulate SCENARIO.yaml [--policy P,...] [--seeds N] [--gantt FILE.svg]

Runs the studies of a scenario on a simulated cluster: the same engine, policies, samplers and
stoppers as 'sluice tune', in virtual time, with learning curves in place of programs. Prints for
each policy the makespan, the time a study took, how much of the devices was used, and how long
the policy's decisions took; then the results of each study. Numbers are means over the seeds with
their 95 % intervals. Nothing is stored, and no program is run.

A scenario lists nodes and studies (docs/simulate.md). A study that fits on no node is left out,
with a remark. The same scenario, policy and seed give the same run on every machine.

  --policy P,...    compare these: policies (docs/policies.md), or labels that the scenario defines
                    under 'policies'; by default those in its 'compare', or fifo
  --cluster NAME    one of the scenario's 'clusters', if it has several; by default the first
  --seeds N         run with the seeds 1 to N instead of the number in the scenario
  --gantt FILE.svg  draw which trial ran where, for seed 1 of each policy; the file must be new
  --store FILE      has no effect here
  --json            as a JSON object, with the values of every seed
  -h, --help        print this

examples:
  sluice simulate scenarios/one-box.yaml
  sluice simulate scenarios/two-studies.yaml --seeds 20
  sluice simulate scenarios/hypersched-1800.yaml --gantt hypersched.svg
  sluice simulate scenarios/one-box.yaml --json | jq '.policies[].makespan_seconds.mean'
)";

struct SimulateOptions {
  std::string file;                   // a scenario
  std::vector<std::string> policies;  // or labels of the scenario; empty: those of its 'compare'
  std::string cluster;                // one of the scenario's; empty: the first
  std::optional<int> seeds;
  std::optional<std::string> gantt;  // the SVG file to make
};

void SimulateFlags(Flags& flags, SimulateOptions& options) {
  flags.Required("SCENARIO", options.file,
                 "a scenario, as in 'sluice simulate scenarios/one-box.yaml'");
  flags.CommaList("--policy", options.policies);
  flags.Text("--cluster", options.cluster);
  flags.Count("--seeds", options.seeds, kMaxSeeds);
  flags.NotEmpty("--gantt", options.gantt, "a file");
}

Status WriteNew(const std::string& path, const std::string& text) {
  SLUICE_ASSIGN(NewFile file, NewFile::Reserve(path));
  const auto close_it = [](std::FILE* held) { std::fclose(held); };
  std::unique_ptr<std::FILE, decltype(close_it)> stream(std::fopen(file.temporary().c_str(), "w"),
                                                        close_it);
  const bool written = stream != nullptr &&
                       std::fwrite(text.data(), 1, text.size(), stream.get()) == text.size() &&
                       std::fflush(stream.get()) == 0;
  if (!written)
    return Unavailable(fmt::format("{}: cannot write ({})", path, std::strerror(errno)));
  return file.Commit();
}

// The run with seed 1 of each policy, for the chart.
struct Chart {
  std::vector<std::unique_ptr<SimulationResult>> results;
  std::vector<GanttPanel> panels;
};

Result<PolicyRuns> RunPolicy(const LabelledScenario& under, int seeds, Chart* chart) {
  const auto& [label, policy, differs, scenario] = under;
  PolicyRuns runs{.label = label, .policy = policy, .runs = {}, .digests = {}, .bounds = {}};
  SimulationProgressLine line;
  for (int seed = 1; seed <= seeds; ++seed) {
    const std::string doing = fmt::format("{}, seed {} of {}", label, seed, seeds);
    const bool drawn = chart != nullptr && seed == 1;
    SLUICE_ASSIGN(SimulationResult result,
                  Simulate(scenario, {.policy = policy,
                                      .seed = static_cast<std::uint64_t>(seed),
                                      .record_intervals = drawn,
                                      .stopwatch_ns = StopwatchNs,
                                      .progress = [&](const SimulationProgress& at) {
                                        line.Say(doing, at);
                                      }}));
    runs.runs.push_back(MetricsOf(scenario, result, /*measured=*/true));
    runs.digests.push_back(result.digest);
    runs.bounds.push_back(WorkBound(scenario, result));
    if (!drawn) continue;
    chart->results.push_back(std::make_unique<SimulationResult>(std::move(result)));
    chart->panels.push_back(
        {.title = fmt::format("{}, seed 1: {}", label,
                              FormatDuration(chart->results.back()->end - Time{})),
         .result = chart->results.back().get()});
  }
  return runs;
}

// The scenario once for each compared policy, with that policy's settings.
Result<std::vector<LabelledScenario>> Compared(const Scenario& scenario,
                                               const SimulateOptions& options) {
  std::vector<LabelledScenario> compared;
  for (const std::string& label : options.policies.empty() ? scenario.compare : options.policies) {
    auto under = ScenarioUnder(scenario, label);
    if (!under) return InvalidArgument("--policy: " + under.error().message);
    compared.push_back(*std::move(under));
  }
  return compared;
}

Result<int> SimulateAction(const Context& context, const SimulateOptions& options) {
  SLUICE_ASSIGN(const std::string text, ReadConfigText(options.file, "a scenario file"));
  const std::string stem = std::filesystem::path(options.file).stem().string();
  SLUICE_ASSIGN(const Scenario scenario, ReadScenario(text, options.file, stem, options.cluster));
  SLUICE_ASSIGN(const std::vector<LabelledScenario> compared, Compared(scenario, options));
  SLUICE_TRY(CheckScenario(scenario, options.file));
  // Fails now if the chart could not be written, not after a long simulation.
  if (options.gantt) SLUICE_TRY(NewFile::Reserve(*options.gantt));
  for (const std::string& message : scenario.left_out) Remark(message);
  const int seeds = options.seeds.value_or(scenario.seeds);
  if (!context.json) Print(DescribeScenario(scenario, compared, seeds, context.terminal) + "\n");

  Chart chart;
  std::vector<PolicyRuns> policies;
  for (const LabelledScenario& under : compared) {
    SLUICE_ASSIGN(PolicyRuns runs, RunPolicy(under, seeds, options.gantt ? &chart : nullptr));
    policies.push_back(std::move(runs));
  }
  if (options.gantt) SLUICE_TRY(WriteNew(*options.gantt, DrawGantt(scenario, chart.panels)));
  if (context.json) {
    PrintLine(SimulationJson(scenario, policies));
  } else {
    Print(SimulationTables(scenario, policies, context.terminal));
  }
  return kExitOk;
}

}  // namespace

Verb SimulateVerb() { return MakeVerb(kSimulateHelp, SimulateFlags, SimulateAction); }

}  // namespace sluice
