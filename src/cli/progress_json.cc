#include <nlohmann/json.hpp>

#include "base/json_number.h"
#include "cli/progress.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json ValueToJson(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return NumberToJson<Json>(*number);
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json ParamsToJson(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params) json[name] = ValueToJson(value);
  return json;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Texts of programs may be anything; a view must not fail over them.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string ProgressJson(const Progress& progress) {
  Json trials = {{"wanted", progress.trials_wanted}, {"done", progress.done()}};
  for (std::size_t state = 0; state < kTrialStates; ++state) {
    trials[std::string(kTrialStateNames[state])] = progress.counts[state];
  }
  Json best = nullptr;
  if (progress.best) {
    best = {{"trial", Number(progress.best->trial)},
            {"value", NumberToJson<Json>(progress.best->value)},
            {"work", progress.best->work},
            {"params", ParamsToJson(progress.best->params)}};
  }
  Json running = Json::array();
  for (const Progress::Running& trial : progress.running) {
    running.push_back({{"trial", Number(trial.trial)},
                       {"work", trial.work},
                       {"target", OrNull(trial.target)},
                       {"value", trial.reported ? NumberToJson<Json>(trial.value) : Json(nullptr)},
                       {"since", FormatTime(trial.since)},
                       {"params", ParamsToJson(trial.params)}});
  }
  const char* state = progress.finished ? "finished" : progress.ending ? "ending" : "running";
  const auto left_s = progress.left.transform([](Duration left) { return Seconds(left); });
  const Json json = {
      {"event", "progress"},
      {"time", FormatTime(progress.now)},
      {"study", progress.study},
      {"state", state},
      {"reason", progress.reason.empty() ? Json(nullptr) : Json(progress.reason)},
      {"metric", progress.metric},
      {"direction", progress.maximize ? "maximize" : "minimize"},
      {"unit", progress.unit},
      {"trials", std::move(trials)},
      {"best", std::move(best)},
      {"running", std::move(running)},
      {"created", FormatTime(progress.created)},
      {"deadline",
       progress.deadline == kNever ? Json(nullptr) : Json(FormatTime(progress.deadline))},
      {"elapsed_s", Seconds(progress.elapsed)},
      {"left_s", OrNull(left_s)},
      {"trials_per_minute", OrNull(progress.trials_per_minute)},
      {"reports", OrNull(progress.reports)},
      {"reports_per_second", OrNull(progress.reports_per_second)}};
  return Dump(json);
}

std::string MessageJson(std::string_view message, Time now) {
  return Dump(
      Json{{"event", "message"}, {"time", FormatTime(now)}, {"message", std::string(message)}});
}

Params ParamsFromJson(std::string_view json) {
  Params params;
  const Json object = Json::parse(json, nullptr, false);
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
