#include "cli/text/print_json.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice {
namespace {

// A value of the trial as JSON: null if the trial has reported nothing, "NaN" if it reported NaN.
std::string ValueOf(double value, const TrialInfo& trial) {
  return std::isnan(value) && trial.reports == 0 ? "null" : JsonNumber(value);
}

std::string_view OrEmptyObject(const std::string& json) {
  return json.empty() ? "{}" : std::string_view(json);
}

// The best trial of a study, with the same members as in ProgressJson. "value" is the trial's
// result, because trials are ranked by their results.
std::string BestJson(const TrialInfo& trial) {
  JsonWriter object;
  object.Add("trial", static_cast<std::int64_t>(Number(trial.id))).Add("value", trial.result);
  object.Add("work", trial.result_work).AddJson("params", OrEmptyObject(trial.params));
  return object.Take();
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string json;
  AppendJson(json, text);
  return json;
}

std::string JsonNumber(double value) {
  std::string json;
  AppendJson(json, value);
  return json;
}

std::string JsonArray(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items.begin(), items.end(), ","));
}

std::string StudyJson(const StudyInfo& study, const StudyStanding& standing,
                      const StorePaths& paths, Time now, const StudyJsonParts& parts) {
  JsonWriter trials;
  trials.Add("wanted", study.trials)
      .Add("made", study.made())
      .Add("done", TrialsDone(study.counts));
  for (std::size_t state = 0; state < kTrialStates; ++state)
    trials.Add(kTrialStateNames[state], study.counts[state]);
  JsonWriter object;
  if (!parts.event.empty()) object.Add("event", parts.event);
  object.Add("name", study.name).Add("state", Name(standing.state));
  object.AddOptional("reason", standing.why.empty() ? std::nullopt : std::optional(standing.why));
  object.AddJson("pid", standing.pid == 0 ? "null" : std::to_string(standing.pid));
  object.Add("metric", study.metric).Add("direction", study.maximize ? "maximize" : "minimize");
  object.Add("unit", study.unit).AddJson("seed", std::to_string(study.seed));
  object.AddJson("trials", trials.Take());
  object.AddJson("best", parts.best != nullptr ? BestJson(*parts.best) : "null");
  if (!parts.importance.empty()) object.AddJson("importance", parts.importance);
  if (parts.running != nullptr) {
    std::vector<std::string> running;
    for (const TrialInfo& trial : *parts.running) running.push_back(TrialJson(trial, now));
    object.AddJson("running", JsonArray(running));
  }
  if (!parts.beside.empty()) object.AddJson("beside", parts.beside);
  object.AddTime("created", study.created)
      .AddTime("updated", study.updated)
      .AddTime("deadline", study.deadline);
  object.Add("elapsed_s", Seconds(ElapsedOf(study, standing, now)));
  object.Add("folder", study.folder).Add("store", paths.database);
  object.Add("files", paths.StudyFolder(study.name));
  return object.Take();
}

std::string TrialJson(const TrialInfo& trial, Time now) {
  JsonWriter object;
  object.Add("trial", static_cast<std::int64_t>(Number(trial.id))).Add("state", Name(trial.state));
  object.AddJson("value", ValueOf(trial.value, trial))
      .AddJson("best_value", ValueOf(trial.result, trial));
  object.Add("best_work", trial.result_work).Add("work", trial.work);
  object.AddJson("target", trial.target ? std::to_string(*trial.target) : "null");
  object.AddJson("params", OrEmptyObject(trial.params))
      .AddJson("attributes", OrEmptyObject(trial.attributes));
  object.Add("launches", static_cast<std::int64_t>(Number(trial.launch)))
      .Add("failures", trial.failures);
  object.Add("reports", trial.reports);
  object.AddTime("created", trial.created)
      .AddTime("started", trial.started)
      .AddTime("ended", trial.ended);
  object.Add("busy_s", Seconds(BusyOf(trial, now)));
  object.Add("saved_work", trial.saved_work).Add("saved_bytes", trial.saved_bytes);
  object.AddOptional("note", trial.note.empty() ? std::nullopt : std::optional(trial.note));
  return object.Take();
}

std::string ReportJson(const ReportInfo& report) {
  return fmt::format(R"({{"trial":{},"launch":{},"time":"{}","work":{},"metrics":{}}})",
                     Number(report.trial), Number(report.launch), FormatPreciseTime(report.time),
                     report.work, report.metrics);
}

}  // namespace sluice
