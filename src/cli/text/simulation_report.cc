#include "cli/text/simulation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "cli/text/describe.h"
#include "cli/text/estimate_text.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/table.h"

namespace sluice {
namespace {

using OfRun = std::function<double(const RunMetrics&)>;

std::vector<double> ValuesOf(const PolicyRuns& runs, const OfRun& value) {
  std::vector<double> values;
  for (const RunMetrics& run : runs.runs) values.push_back(value(run));
  return values;
}

Estimate Over(const PolicyRuns& runs, const OfRun& value) {
  return EstimateOf(ValuesOf(runs, value));
}

OfRun OfStudy(std::size_t study, double StudyMetrics::* member) {
  return [=](const RunMetrics& run) { return run.studies[study].*member; };
}
OfRun OfStudy(std::size_t study, int StudyMetrics::* member) {
  return [=](const RunMetrics& run) { return static_cast<double>(run.studies[study].*member); };
}

// A mean and its interval, as in "1h 12m ± 3m 04s"; "-" if no run has the figure. If only some runs
// have it, their number is added: " (3 of 5)".
std::string Shown(const Estimate& estimate, const std::function<std::string(double)>& format) {
  if (estimate.count == 0) return "-";
  std::string text = format(estimate.mean);
  if (!std::isnan(estimate.half_width)) text += " ± " + format(estimate.half_width);
  if (estimate.missing > 0)
    text += fmt::format(" ({} of {})", estimate.count, estimate.count + estimate.missing);
  return text;
}

// A time in microseconds; from 1 ms on, in milliseconds.
std::string InMicroseconds(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} µs", seconds * 1e6)
                        : fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string DescribePipeline(const PipelineSchedule& job) {
  const PipelineSpec& spec = job.spec();
  Duration idle{0};
  for (const BubbleWindow& window : job.windows()) idle += window.length();
  return fmt::format(
      "{}: {} on {} {}, {}; a step takes {:.4g} ms, {:.1f} % of it bubbles ({} windows, {:.4g} ms "
      "a stage){}",
      spec.name, Counted(spec.stages, "stage"), spec.stages, spec.kind,
      fmt::format("{} micro-batch{}", spec.micro_batches, spec.micro_batches == 1 ? "" : "es"),
      Seconds(job.step()) * 1e3, job.bubble_share() * 100, job.windows().size(),
      Seconds(idle) * 1e3 / spec.stages,
      spec.lends > 0 ? fmt::format("; it lends {}", Counted(spec.lends, "device")) : "");
}

// The first few failures of nodes, and how many more there are.
std::string DescribeFailures(const Scenario& scenario) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> parts;
  for (const NodeFailure& failure : scenario.failures) {
    if (parts.size() == kShown) break;
    parts.push_back(fmt::format("{} is down at {} for {}",
                                scenario.nodes[Number(failure.node) - 1].name,
                                FormatDuration(failure.at), FormatDuration(failure.lasts)));
  }
  if (const std::size_t more = scenario.failures.size() - parts.size(); more > 0)
    parts.push_back(fmt::format("and {} more", more));
  return Join(parts);
}

bool AnyDeadline(const Scenario& scenario) {
  return std::ranges::any_of(scenario.studies, [](const ScenarioStudy& study) {
    return study.spec.deadline_after.has_value();
  });
}
bool AnyTarget(const Scenario& scenario) {
  return std::ranges::any_of(
      scenario.studies, [](const ScenarioStudy& study) { return !study.spec.stop_at.empty(); });
}

std::string PolicyTable(const std::vector<PolicyRuns>& policies, const Terminal& terminal) {
  Table table({{"policy"},
               {"makespan", Align::kRight},
               {"job completion", Align::kRight},
               {"utilisation", Align::kRight},
               {"overhead", Align::kRight},
               {"occupancy", Align::kRight},
               {"decision", Align::kRight},
               {"longest", Align::kRight}});
  for (const PolicyRuns& runs : policies) {
    table.Add(
        {{runs.label, Ink::kBold},
         {Shown(Over(runs, [](const auto& run) { return run.makespan_seconds; }), InTime)},
         {Shown(Over(runs, [](const auto& run) { return run.mean_completion_seconds; }), InTime)},
         {Shown(Over(runs, [](const auto& run) { return run.utilisation; }), InPercent)},
         {Shown(Over(runs, [](const auto& run) { return run.overhead; }), InPercent)},
         {Shown(Over(runs, [](const auto& run) { return run.occupancy; }), InPercent)},
         {Shown(Over(runs, [](const auto& run) { return run.mean_decision_seconds; }),
                InMicroseconds)},
         {Shown(Over(runs, [](const auto& run) { return run.longest_decision_seconds; }),
                InMicroseconds)}});
  }
  return table.Render(terminal);
}

std::string StudyTable(const Scenario& scenario, const std::vector<PolicyRuns>& policies,
                       const Terminal& terminal) {
  const bool deadline = AnyDeadline(scenario);
  const bool target = AnyTarget(scenario);
  std::vector<Table::Column> columns = {{"policy"}, {"study"}, {"completion", Align::kRight}};
  if (target) columns.push_back({"to target", Align::kRight});
  if (deadline) columns.push_back({"at deadline", Align::kRight});
  columns.push_back({"best", Align::kRight});
  for (const char* heading : {"complete", "stopped", "failed"})
    columns.push_back({heading, Align::kRight});
  Table table(columns);
  for (const PolicyRuns& runs : policies) {
    for (std::size_t i = 0; i < runs.runs.front().studies.size(); ++i) {
      std::vector<Table::Cell> row = {
          {runs.label, Ink::kBold},
          {runs.runs.front().studies[i].study},
          {Shown(Over(runs, OfStudy(i, &StudyMetrics::completion_seconds)), InTime)}};
      if (target)
        row.push_back({Shown(Over(runs, OfStudy(i, &StudyMetrics::seconds_to_target)), InTime)});
      if (deadline)
        row.push_back({Shown(Over(runs, OfStudy(i, &StudyMetrics::best_at_deadline)), InNumber)});
      row.push_back({Shown(Over(runs, OfStudy(i, &StudyMetrics::best)), InNumber)});
      for (int StudyMetrics::* member :
           {&StudyMetrics::complete, &StudyMetrics::stopped, &StudyMetrics::failed})
        row.push_back({InCount(Over(runs, OfStudy(i, member)).mean)});
      table.Add(std::move(row));
    }
  }
  return table.Render(terminal);
}

// For each seed, a lower bound on the makespan under any of the compared policies: the least of
// their own bounds. Empty if a policy has no bound, or if the policies did not do the same work.
// Studies with a target or a deadline have no bound.
std::vector<double> BoundsOf(const std::vector<PolicyRuns>& policies) {
  std::vector<double> bounds;
  for (std::size_t seed = 0; !policies.empty() && seed < policies[0].bounds.size(); ++seed) {
    std::optional<Bound> least = policies[0].bounds[seed];
    for (const PolicyRuns& runs : policies) {
      const std::optional<Bound>& own = runs.bounds[seed];
      if (!own || own->work != least->work || own->seconds <= 0) return {};
      least->seconds = std::min(least->seconds, own->seconds);
    }
    bounds.push_back(least->seconds);
  }
  return bounds;
}

// Each makespan as a multiple of the bound of its seed.
std::vector<double> TimesBound(const PolicyRuns& runs, const std::vector<double>& bounds) {
  std::vector<double> times;
  for (std::size_t seed = 0; seed < bounds.size(); ++seed)
    times.push_back(runs.runs[seed].makespan_seconds / bounds[seed]);
  return times;
}

std::string BoundText(const std::vector<PolicyRuns>& policies, const std::vector<double>& bounds,
                      const Terminal& terminal) {
  if (bounds.empty()) return "";
  std::vector<std::string> times;
  for (const PolicyRuns& runs : policies)
    times.push_back(
        fmt::format("{} {:.3f}x", runs.label, EstimateOf(TimesBound(runs, bounds)).mean));
  return "\n" + Labelled({{"bound", fmt::format("{} for this work; {}",
                                                Shown(EstimateOf(bounds), InTime), Join(times))}},
                         terminal);
}

std::string EstimateJson(const PolicyRuns& runs, const OfRun& value) {
  const std::vector<double> values = ValuesOf(runs, value);
  return EstimateJson(EstimateOf(values), values);
}

std::string PolicyRunsJson(const PolicyRuns& runs, const std::vector<double>& bounds) {
  std::vector<std::string> studies;
  for (std::size_t i = 0; i < runs.runs.front().studies.size(); ++i) {
    JsonWriter object;
    object.Add("study", runs.runs.front().studies[i].study);
    const auto add = [&](std::string_view name, auto member) {
      object.AddJson(name, EstimateJson(runs, OfStudy(i, member)));
    };
    add("completion_seconds", &StudyMetrics::completion_seconds);
    add("best", &StudyMetrics::best);
    add("best_at_deadline", &StudyMetrics::best_at_deadline);
    add("seconds_to_target", &StudyMetrics::seconds_to_target);
    add("complete", &StudyMetrics::complete);
    add("stopped", &StudyMetrics::stopped);
    add("failed", &StudyMetrics::failed);
    studies.push_back(object.Take());
  }
  std::vector<std::string> digests;
  for (const std::uint64_t digest : runs.digests) digests.push_back(JsonText(ToHex(digest)));
  JsonWriter object;
  object.Add("label", runs.label).Add("policy", runs.policy);
  const auto add = [&](std::string_view name, const OfRun& value) {
    object.AddJson(name, EstimateJson(runs, value));
  };
  add("makespan_seconds", [](const auto& run) { return run.makespan_seconds; });
  if (!bounds.empty()) {
    const std::vector<double> times = TimesBound(runs, bounds);
    object.AddJson("times_bound", EstimateJson(EstimateOf(times), times));
  }
  add("job_completion_seconds", [](const auto& run) { return run.mean_completion_seconds; });
  add("utilisation", [](const auto& run) { return run.utilisation; });
  add("overhead", [](const auto& run) { return run.overhead; });
  add("occupancy", [](const auto& run) { return run.occupancy; });
  add("decision_seconds", [](const auto& run) { return run.mean_decision_seconds; });
  add("longest_decision_seconds", [](const auto& run) { return run.longest_decision_seconds; });
  add("decisions", [](const auto& run) { return static_cast<double>(run.decisions); });
  add("unproven", [](const auto& run) { return static_cast<double>(run.unproven); });
  add("events", [](const auto& run) { return static_cast<double>(run.events); });
  object.AddJson("studies", JsonArray(studies)).AddJson("digests", JsonArray(digests));
  return object.Take();
}

std::string PipelineJson(const PipelineSchedule& job) {
  std::vector<std::string> windows;
  for (const BubbleWindow& window : job.windows()) {
    JsonWriter object;
    object.Add("stage", window.stage);
    object.Add("opens_ms", Seconds(window.opens) * 1e3)
        .Add("closes_ms", Seconds(window.closes) * 1e3);
    windows.push_back(object.Add("free_bytes", window.free_bytes).Take());
  }
  JsonWriter object;
  object.Add("name", job.spec().name).Add("stages", job.spec().stages);
  object.Add("micro_batches", job.spec().micro_batches).Add("step_ms", Seconds(job.step()) * 1e3);
  object.Add("bubble_share", job.bubble_share());
  return object.AddJson("windows", JsonArray(windows)).Take();
}

}  // namespace

std::string DescribeScenario(const Scenario& scenario,
                             const std::vector<LabelledScenario>& compared, int seeds,
                             const Terminal& terminal) {
  std::vector<std::string> studies;
  for (const ScenarioStudy& study : scenario.studies) {
    studies.push_back(fmt::format("{} ({})", study.spec.name,
                                  Counted(static_cast<long long>(study.spec.trials), "trial")));
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"scenario", Inked(scenario.name, Ink::kBold, terminal)},
      {"cluster",
       (scenario.cluster.empty() ? "" : scenario.cluster + ", ") + DescribeNodes(scenario.nodes)},
      {"studies", Join(studies)},
      {"goal", std::string(Name(scenario.goal))},
      {"seeds", seeds == 1 ? "1" : fmt::format("1 to {}; mean ± 95 % interval", seeds)}};
  for (const LabelledScenario& under : compared) {
    if (!under.differs.empty())
      lines.emplace_back("policy", fmt::format("{}: {}", under.label, under.differs));
  }
  if (!scenario.failures.empty()) lines.emplace_back("failures", DescribeFailures(scenario));
  for (const PipelineSchedule& job : scenario.pipeline_jobs)
    lines.emplace_back("pipeline", DescribePipeline(job));
  return Labelled(lines, terminal);
}

std::string SimulationTables(const Scenario& scenario, const std::vector<PolicyRuns>& policies,
                             const Terminal& terminal) {
  return PolicyTable(policies, terminal) + BoundText(policies, BoundsOf(policies), terminal) +
         "\n" + StudyTable(scenario, policies, terminal);
}

std::string SimulationJson(const Scenario& scenario, const std::vector<PolicyRuns>& policies) {
  std::int64_t devices = 0;
  for (const Node& node : scenario.nodes) devices += static_cast<std::int64_t>(node.devices.size());
  std::vector<std::string> jobs, left_out, results;
  for (const PipelineSchedule& job : scenario.pipeline_jobs) jobs.push_back(PipelineJson(job));
  for (const std::string& message : scenario.left_out) left_out.push_back(JsonText(message));
  const std::vector<double> bounds = BoundsOf(policies);
  for (const PolicyRuns& runs : policies) results.push_back(PolicyRunsJson(runs, bounds));
  JsonWriter object;
  object.Add("scenario", scenario.name).Add("goal", Name(scenario.goal));
  if (!scenario.cluster.empty()) object.Add("cluster", scenario.cluster);
  object.Add("nodes", static_cast<std::int64_t>(scenario.nodes.size())).Add("devices", devices);
  object.Add("seeds", static_cast<std::int64_t>(policies.empty() ? 0 : policies[0].runs.size()));
  if (!bounds.empty()) object.AddJson("bound_seconds", EstimateJson(EstimateOf(bounds), bounds));
  object.AddJson("left_out", JsonArray(left_out)).AddJson("pipeline_jobs", JsonArray(jobs));
  return object.AddJson("policies", JsonArray(results)).Take();
}

}  // namespace sluice
