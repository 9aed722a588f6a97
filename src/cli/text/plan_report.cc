#include "cli/text/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/text.h"
#include "cli/text/describe.h"
#include "cli/text/estimate_text.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/table.h"

namespace sluice {
namespace {

// A mean and its range, as in "1h 12m (58m 10s to 1h 26m)"; "-" if no run has the figure. If only
// some runs have it, their number is added: " [3 of 5 runs]". If `positive`, the range begins at 0
// or above.
std::string Ranged(const Estimate& estimate, const std::function<std::string(double)>& format,
                   bool positive) {
  if (estimate.count == 0) return "-";
  std::string text = format(estimate.mean);
  if (!std::isnan(estimate.half_width)) {
    const double low = estimate.mean - estimate.half_width;
    text += fmt::format(" ({} to {})", format(positive ? std::max(0.0, low) : low),
                        format(estimate.mean + estimate.half_width));
  }
  if (estimate.missing > 0)
    text += fmt::format(" [{} of {} runs]", estimate.count, estimate.count + estimate.missing);
  return text;
}

std::string Header(const StudyPlan& plan, const Terminal& terminal) {
  const StudySpec& spec = plan.spec();
  std::string study =
      fmt::format("{}, {}", Inked(spec.name, Ink::kBold, terminal), Counted(spec.trials, "trial"));
  if (spec.deadline_after) study += ", deadline " + FormatDuration(*spec.deadline_after);
  return Labelled({{"study", study},
                   {"on", fmt::format("{}, {}", plan.cluster, DescribeNodes(plan.nodes))},
                   {"runs", plan.seeds == 1 ? "1 of each policy, seed 1"
                                            : fmt::format("{0} of each policy, seeds 1 to {0}; in "
                                                          "brackets the range of 95 % of runs",
                                                          plan.seeds)}},
                  terminal);
}

std::string AssumptionTable(const StudyPlan& plan, const Terminal& terminal) {
  Table table({{"what is taken for granted"}, {""}, {"from"}});
  for (const Assumption& assumption : plan.assumed.assumptions) {
    const bool known = assumption.origin != Origin::kAssumed;
    table.Add({{assumption.what},
               {assumption.value},
               {OriginText(plan, assumption.origin), known ? Ink::kPlain : Ink::kYellow}});
  }
  return table.Render(terminal);
}

// The policy's name, with a star if 'sluice tune' refuses the policy.
std::string Marked(const PolicyForecast& forecast) {
  return forecast.policy + (forecast.refused.empty() ? "" : " *");
}

std::string ForecastTable(const StudyPlan& plan, const Terminal& terminal) {
  const bool in_trials = plan.assumed.in_trials;
  const bool deadline = plan.spec().deadline_after.has_value();
  const auto fails = [](const RunMetrics& run) { return run.studies.front().failed > 0; };
  const bool failed = std::ranges::any_of(plan.forecasts, [&](const PolicyForecast& forecast) {
    return std::ranges::any_of(forecast.runs, fails);
  });
  const std::string devices = plan.on_devices() ? "GPU" : "core";
  std::vector<Table::Column> columns = {{"policy"}};
  if (deadline)
    columns.push_back({fmt::format("{} at deadline", plan.spec().objective.metric), Align::kRight});
  columns.push_back({in_trials ? "makespan in trials" : "makespan", Align::kRight});
  columns.push_back({devices + (in_trials ? " time in trials" : "-hours"), Align::kRight});
  columns.push_back({"complete", Align::kRight});
  columns.push_back({"stopped", Align::kRight});
  if (failed) columns.push_back({"failed", Align::kRight});
  Table table(columns);
  const auto in_time = [&](double time) { return TimeText(plan, time); };
  const auto in_hours = [](double hours) { return fmt::format("{:.3g}", hours); };
  for (const PolicyForecast& forecast : plan.forecasts) {
    if (forecast.same_as) continue;
    const auto over = [&](const OfRun& value) { return ForecastOf(ValuesOf(forecast, value)); };
    std::vector<Table::Cell> row = {{Marked(forecast), Ink::kBold}};
    if (deadline) row.push_back({Ranged(over(BestAtDeadline), InNumber, /*positive=*/false)});
    row.push_back({Ranged(over(Makespan(plan)), in_time, /*positive=*/true)});
    row.push_back({Ranged(over(DeviceTime(plan)), in_hours, /*positive=*/true)});
    row.push_back({InCount(over(OfTrials(&StudyMetrics::complete)).mean)});
    row.push_back({InCount(over(OfTrials(&StudyMetrics::stopped)).mean)});
    if (failed) row.push_back({InCount(over(OfTrials(&StudyMetrics::failed)).mean)});
    table.Add(std::move(row));
  }
  std::string text = table.Render(terminal);
  if (in_trials) text += "(1 is how long one trial takes alone; --unit-time D gives hours)\n";
  return text;
}

// For each policy whose figures other policies share, a line such as
// "the same as fifo: lpt, hydro".
std::string SameRuns(const StudyPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.forecasts.size(); ++i) {
    std::vector<std::string> names;
    for (const PolicyForecast& other : plan.forecasts) {
      if (other.same_as == i) names.push_back(Marked(other));
    }
    if (!names.empty())
      text += fmt::format("the same as {}: {}\n", plan.forecasts[i].policy, Join(names));
  }
  return text;
}

// A line for each reason, with the names of all policies that have it. Reasons that differ only in
// the policy's name count as one reason.
std::string Grouped(const std::vector<LeftOut>& all, std::string_view label) {
  const auto without_name = [](const LeftOut& each) {
    std::string text = each.reason;
    if (const std::size_t at = text.find(each.policy); at != std::string::npos)
      text.replace(at, each.policy.size(), "*");
    return text;
  };
  std::vector<std::pair<std::string, std::vector<const LeftOut*>>> groups;
  for (const LeftOut& each : all) {
    const std::string key = without_name(each);
    auto group = std::ranges::find(groups, key, [](const auto& g) { return g.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->second.push_back(&each);
  }
  std::string text;
  for (const auto& [key, members] : groups) {
    std::vector<std::string> names;
    for (const LeftOut* member : members) names.push_back(member->policy);
    text += fmt::format("{} {}: {}\n", label, Join(names), members.front()->reason);
  }
  return text;
}

std::vector<LeftOut> OnlySimulated(const StudyPlan& plan) {
  std::vector<LeftOut> refused;
  for (const PolicyForecast& forecast : plan.forecasts) {
    if (!forecast.refused.empty()) refused.push_back({forecast.policy, forecast.refused});
  }
  return refused;
}

}  // namespace

std::string PlanText(const StudyPlan& plan, const Terminal& terminal) {
  std::string text = Header(plan, terminal) + "\n" + AssumptionTable(plan, terminal) + "\n" +
                     ForecastTable(plan, terminal) + SameRuns(plan) +
                     Grouped(OnlySimulated(plan), "* only simulated yet,") +
                     Grouped(plan.left_out, "left out,");
  for (const std::string& note : plan.assumed.notes)
    text += Inked("note: ", Ink::kYellow, terminal) + note + "\n";
  const std::string& advised = plan.contender(plan.advice.advised).policy;
  text += fmt::format("\nadvised: {}{}\n", Inked("policy: " + advised, Ink::kGreen, terminal),
                      plan.spec().policy == advised
                          ? ", as the study file has it"
                          : fmt::format(" (the study file has {})", plan.spec().policy));
  for (const std::string& reason : Reasons(plan)) text += reason + "\n";
  return text;
}

}  // namespace sluice
