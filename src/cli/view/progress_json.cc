#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "cli/view/progress.h"

namespace sluice {
namespace {

std::string ParamsToJson(const Params& params) {
  JsonWriter json;
  for (const auto& [name, value] : params)
    std::visit([&](const auto& held) { json.Add(name, held); }, value);
  return json.Take();
}

// Adds a value, or null if there is none.
template <typename T>
void AddOrNull(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  if (value) {
    json.Add(name, *value);
  } else {
    json.AddJson(name, "null");
  }
}

std::string BestToJson(const Progress::Best& best) {
  JsonWriter json;
  json.Add("trial", Number(best.trial)).Add("value", best.value).Add("work", best.work);
  return json.AddJson("params", ParamsToJson(best.params)).Take();
}

void AppendRunning(std::string& list, const Progress::Running& trial) {
  JsonWriter json;
  json.Add("trial", Number(trial.trial)).Add("work", trial.work);
  AddOrNull(json, "target", trial.target);
  AddOrNull(json, "value", trial.reported ? std::optional(trial.value) : std::nullopt);
  json.Add("since", FormatTime(trial.since)).AddJson("params", ParamsToJson(trial.params));
  list += json.Take();
}

}  // namespace

std::string ProgressJson(const Progress& progress) {
  JsonWriter trials;
  trials.Add("wanted", progress.trials_wanted).Add("done", progress.done());
  for (std::size_t state = 0; state < kTrialStates; ++state)
    trials.Add(kTrialStateNames[state], progress.counts[state]);
  JsonWriter json;
  json.Add("event", "progress").Add("time", FormatTime(progress.now));
  json.Add("study", progress.study);
  json.Add("state", Name(progress.state()));
  json.AddOptional("reason",
                   progress.reason.empty() ? std::nullopt : std::optional(progress.reason));
  json.Add("metric", progress.metric);
  json.Add("direction", progress.maximize ? "maximize" : "minimize").Add("unit", progress.unit);
  json.AddJson("trials", trials.Take());
  json.AddJson("best", progress.best ? BestToJson(*progress.best) : "null");
  json.AddJson("running", JsonList(progress.running, AppendRunning));
  json.Add("created", FormatTime(progress.created));
  const bool has_deadline = progress.deadline != kNever;
  json.AddOptional("deadline",
                   has_deadline ? std::optional(FormatTime(progress.deadline)) : std::nullopt);
  json.Add("elapsed_s", Seconds(progress.elapsed));
  AddOrNull(json, "left_s", progress.left.transform([](Duration left) { return Seconds(left); }));
  AddOrNull(json, "trials_per_minute", progress.trials_per_minute);
  AddOrNull(json, "reports", progress.reports);
  AddOrNull(json, "reports_per_second", progress.reports_per_second);
  return json.Take();
}

std::string MessageJson(std::string_view message, Time now) {
  JsonWriter json;
  json.Add("event", "message").Add("time", FormatTime(now)).Add("message", message);
  return json.Take();
}

Params ParamsFromJson(std::string_view json) {
  Params params;
  const auto object = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!object.is_object()) return params;
  for (const auto& [name, value] : object.items()) {
    if (value.is_boolean()) {
      params.emplace_back(name, value.get<bool>());
    } else if (value.is_number_integer()) {
      params.emplace_back(name, value.get<std::int64_t>());
    } else if (value.is_number()) {
      params.emplace_back(name, value.get<double>());
    } else if (value.is_string()) {
      params.emplace_back(name, value.get<std::string>());
    }
  }
  return params;
}

}  // namespace sluice
