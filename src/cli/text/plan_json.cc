#include <algorithm>

#include "cli/text/estimate_text.h"
#include "cli/text/plan_report.h"
#include "cli/text/print_json.h"

namespace sluice {
namespace {

// An object with two members. "forecast" is the range in which 95 % of runs lie. "over_seeds" has
// the mean over the seeds, its interval, and the value of each run.
std::string ForecastJson(const PolicyForecast& forecast, const OfRun& value) {
  const std::vector<double> values = ValuesOf(forecast, value);
  const Estimate run = ForecastOf(values);
  JsonWriter object;
  object.AddJson("forecast", JsonArray({NumberOrNull(run.mean - run.half_width),
                                        NumberOrNull(run.mean + run.half_width)}));
  object.AddJson("over_seeds", EstimateJson(EstimateOf(values), values));
  return object.Take();
}

std::string StandingName(Standing standing) {
  switch (standing) {
    case Standing::kBetter: return "better";
    case Standing::kSame: return "same";
    case Standing::kWorse: return "worse";
  }
  return "";
}

std::string PolicyJson(const StudyPlan& plan, std::size_t index) {
  const PolicyForecast& forecast = plan.forecasts[index];
  JsonWriter object;
  object.Add("policy", forecast.policy).Add("can_run", forecast.refused.empty());
  object.AddOptional("refused",
                     forecast.refused.empty() ? std::nullopt : std::optional(forecast.refused));
  object.AddOptional("same_as", forecast.same_as
                                    ? std::optional(plan.forecasts[*forecast.same_as].policy)
                                    : std::nullopt);
  object.AddJson("makespan", ForecastJson(forecast, Makespan(plan)));
  object.AddJson("best_at_deadline", ForecastJson(forecast, BestAtDeadline));
  object.AddJson("device_time", ForecastJson(forecast, DeviceTime(plan)));
  object.AddJson("complete", ForecastJson(forecast, OfTrials(&StudyMetrics::complete)));
  object.AddJson("stopped", ForecastJson(forecast, OfTrials(&StudyMetrics::stopped)));
  object.AddJson("failed", ForecastJson(forecast, OfTrials(&StudyMetrics::failed)));
  const std::size_t of = forecast.same_as.value_or(index);
  const auto place = std::ranges::find(plan.contenders, of) - plan.contenders.begin();
  const Comparison& beside = plan.advice.beside[static_cast<std::size_t>(place)];
  JsonWriter gain;
  gain.Add("standing", StandingName(beside.standing));
  gain.AddJson("mean", NumberOrNull(beside.gain.mean));
  gain.AddJson("half_width", NumberOrNull(beside.gain.half_width));
  return object.AddJson("gain", gain.Take()).Take();
}

}  // namespace

std::string PlanJson(const StudyPlan& plan) {
  std::vector<std::string> assumptions, policies, left_out, notes, reasons;
  for (const Assumption& assumption : plan.assumed.assumptions) {
    JsonWriter object;
    object.Add("key", assumption.key).Add("what", assumption.what);
    object.Add("value", assumption.value).Add("from", OriginText(plan, assumption.origin));
    assumptions.push_back(object.Take());
  }
  for (std::size_t i = 0; i < plan.forecasts.size(); ++i) policies.push_back(PolicyJson(plan, i));
  for (const LeftOut& each : plan.left_out) {
    JsonWriter object;
    left_out.push_back(object.Add("policy", each.policy).Add("reason", each.reason).Take());
  }
  for (const std::string& note : plan.assumed.notes) notes.push_back(JsonText(note));
  for (const std::string& reason : Reasons(plan)) reasons.push_back(JsonText(reason));
  std::int64_t devices = 0;
  Milli cpus = 0;
  for (const Node& node : plan.nodes) {
    devices += static_cast<std::int64_t>(node.devices.size());
    cpus += node.cpus;
  }
  const bool in_trials = plan.assumed.in_trials;
  const std::string unit = plan.on_devices() ? "GPU" : "core";
  JsonWriter advised;
  advised.Add("policy", plan.contender(plan.advice.advised).policy);
  advised.Add("baseline", plan.contender(plan.advice.baseline).policy);
  advised.Add("by", plan.by_value ? "best_at_deadline" : "makespan");
  advised.AddJson("why", JsonArray(reasons));
  const StudySpec& spec = plan.spec();
  JsonWriter object;
  object.Add("study", spec.name).Add("trials", spec.trials).Add("cluster", plan.cluster);
  object.Add("nodes", plan.nodes.size()).Add("devices", devices);
  object.Add("cpus", static_cast<double>(cpus) / kWhole).Add("seeds", plan.seeds);
  object.AddJson("deadline_seconds",
                 spec.deadline_after ? JsonNumber(Seconds(*spec.deadline_after)) : "null");
  object.Add("makespan_in", in_trials ? "trials" : "seconds");
  object.Add("device_time_in", unit + (in_trials ? "-trials" : "-hours"));
  object.AddJson("assumptions", JsonArray(assumptions)).AddJson("policies", JsonArray(policies));
  object.AddJson("left_out", JsonArray(left_out)).AddJson("notes", JsonArray(notes));
  return object.AddJson("advised", advised.Take()).Take();
}

}  // namespace sluice
