#include "engine/read/objective_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "engine/read/foreign_keys.h"
#include "engine/read/study_keys.h"

namespace sluice {
namespace {

constexpr std::string_view kForm = "{maximize: METRIC} or {minimize: METRIC}";
constexpr std::string_view kOne =
    "a study has one objective: report a number that weighs what counts, and name that";

// Returns the metric if its name is allowed. Otherwise reports why it is not, and returns nothing.
std::optional<std::string> ReadMetric(const ConfigNode& node, const std::string& metric,
                                      const std::string& unit) {
  if (const Status status = CheckMetricName(metric); !status) {
    node.Report(status.error().message);
    return std::nullopt;
  }
  if (metric == unit) {
    node.Report(fmt::format(
        "expected a metric, found {}, which is the unit of the budget; name what the program "
        "reports",
        metric));
    return std::nullopt;
  }
  return metric;
}

// An objective must be a map. Reports what to write in place of a word such as "accuracy",
// "maximize accuracy" or "max(accuracy)".
void ReportWord(const ConfigNode& node) {
  const std::string word = node.Show();
  for (const std::string_view direction : {"maximize", "minimize", "max", "min"}) {
    if (!word.starts_with(direction)) continue;
    const std::string_view key = direction.starts_with("max") ? "maximize" : "minimize";
    const std::size_t open = word.find('(');
    if (open != std::string::npos && word.ends_with(')')) {
      return node.Expected(kForm, fmt::format("write '{{{}: {}}}'", key,
                                              word.substr(open + 1, word.size() - open - 2)));
    }
    const std::string_view metric =
        std::string_view(word).substr(std::min(word.find_first_of(' '), word.size() - 1) + 1);
    return node.Expected(kForm,
                         fmt::format("write '{{{}: {}}}'", key, metric.empty() ? "loss" : metric));
  }
  node.Expected(kForm, fmt::format("write '{{maximize: {0}}}' or '{{minimize: {0}}}'", word));
}

// Reads which report of a trial counts.
std::optional<Of> ReadOf(const ConfigMap& objective) {
  const ConfigNode* node = objective.Find("of");
  if (node == nullptr) return Of::kBest;
  const std::vector<std::string> reports = {"best", "last"};
  const std::vector<std::pair<std::string, std::string>> foreign = {
      {"final", "last"}, {"end", "last"}, {"max", "best"}, {"min", "best"}};
  const auto name = node->OneOf(reports, foreign);
  if (!name) return std::nullopt;
  return *name == "last" ? Of::kLast : Of::kBest;
}

// Reads an objective that is a map.
std::optional<Objective> ReadObjectiveMap(const ConfigNode& node, const std::string& unit) {
  const ConfigMap map = *node.Map();
  const std::vector<std::string> allowed = {"maximize", "minimize", "of"};
  for (const auto& [metric, direction] : map.entries()) {  // {acc: maximize}
    if (direction.is_scalar() && std::ranges::find(allowed, direction.Show()) != allowed.end() &&
        std::ranges::find(allowed, metric) == allowed.end() && map.entries().size() == 1) {
      node.Expected(kForm, fmt::format("write '{{{}: {}}}'", direction.Show(), metric));
      return std::nullopt;
    }
  }
  map.AllowOnly(allowed, ForeignKeysOf("objective"));
  const auto of = ReadOf(map);
  if (!of) return std::nullopt;
  const ConfigNode* maximize = map.Find("maximize");
  const ConfigNode* minimize = map.Find("minimize");
  if (maximize != nullptr && minimize != nullptr) {
    node.Expected("either maximize or minimize", kOne);
    return std::nullopt;
  }
  if (maximize == nullptr && minimize == nullptr) {
    // An unknown key has been reported already. It is likely a misspelled 'maximize' or 'minimize'.
    if (map.entries().empty() || map.Find("of") != nullptr) node.Expected(kForm);
    return std::nullopt;
  }
  const ConfigNode& value = maximize != nullptr ? *maximize : *minimize;
  if (value.is_list()) {
    value.Expected("one metric", kOne);
    return std::nullopt;
  }
  const auto text = value.Text();
  const auto metric = text ? ReadMetric(value, *text, unit) : std::nullopt;
  if (!metric) return std::nullopt;
  return Objective{*metric, maximize != nullptr ? Direction::kMaximize : Direction::kMinimize, *of};
}

// `objective` is null if the objective has mistakes of its own.
std::optional<StopAt> ReadThreshold(const std::string& metric, const ConfigNode& value,
                                    const Objective* objective) {
  if (!value.is_map()) {
    const auto threshold = value.Number();
    if (!threshold || objective == nullptr) return std::nullopt;
    if (metric == objective->metric) return StopAt{metric, *threshold, objective->direction};
    value.Expected(fmt::format("{{below: {0}}} or {{above: {0}}}, since {1} is not the objective",
                               value.Show(), Shown(metric)));
    return std::nullopt;
  }
  const ConfigMap map = *value.Map();
  const std::vector<std::string> allowed = {"below", "above"};
  map.AllowOnly(allowed);
  const ConfigNode* below = map.Find("below");
  const ConfigNode* above = map.Find("above");
  if ((below == nullptr) == (above == nullptr)) {
    if (below != nullptr || map.entries().empty())
      value.Expected("either {below: NUMBER} or {above: NUMBER}");
    return std::nullopt;
  }
  const auto threshold = (below != nullptr ? below : above)->Number();
  if (!threshold) return std::nullopt;
  return StopAt{metric, *threshold, below != nullptr ? Direction::kMinimize : Direction::kMaximize};
}

}  // namespace

std::optional<Objective> ReadObjective(const ConfigMap& study, const std::string& unit) {
  const ConfigNode* node = study.Require("objective", kForm, "add 'objective: {minimize: loss}'");
  if (node == nullptr) return std::nullopt;
  if (node->is_map()) return ReadObjectiveMap(*node, unit);
  if (node->is_list()) {
    node->Expected(kForm, kOne);
  } else if (node->is_scalar()) {
    ReportWord(*node);
  } else {
    node->Expected(kForm);
  }
  return std::nullopt;
}

std::vector<StopAt> ReadStopAt(const ConfigNode* node, const Objective* objective,
                               const std::string& unit) {
  std::vector<StopAt> goals;
  const auto map = node != nullptr ? node->Map("write 'stop_at: {METRIC: 0.9}'") : std::nullopt;
  if (!map) return goals;
  if (map->entries().empty()) node->Expected("a metric and its value, as in {accuracy: 0.9}");
  for (const auto& [metric, value] : map->entries()) {
    if (value.is_null()) {
      value.Expected("a value for the metric", "write 'stop_at: {METRIC: 0.9}'");
      continue;
    }
    if (!ReadMetric(value, metric, unit)) continue;
    if (const auto goal = ReadThreshold(metric, value, objective)) goals.push_back(*goal);
  }
  return goals;
}

}  // namespace sluice
