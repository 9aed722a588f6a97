#include "engine/read/stopper_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "engine/read/foreign_keys.h"
#include "engine/read/parameter_list.h"
#include "engine/read/study_keys.h"
#include "search/rungs/judged_at.h"

namespace sluice {
namespace {

std::optional<std::string> ReadUnit(const ConfigNode& node, const std::string& unit) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  if (!unit.empty() && unit.size() <= kLongestMetric && std::ranges::all_of(unit, fits))
    return unit;
  node.Expected("a unit of letters, digits, '_' and '-', such as epoch or step");
  return std::nullopt;
}

// Reads the options of the stopper of this name, and reports options that it does not take. Returns
// false if there are mistakes.
bool ReadStopperOptions(const ConfigMap& map, const std::optional<std::string>& name,
                        const ParameterNames& parameters, StopperSpec& stopper) {
  std::vector<std::string> keys = {"name"};
  for (const std::string& option : AllStopperOptions()) keys.push_back(option);
  map.AllowOnly(keys, ForeignKeysOf("stopper"));
  if (!name) return false;
  const std::vector<std::string>& takes = StopperOptions(*name);
  bool good = true;
  const auto read = [&](std::string_view key, auto get, auto& into) {
    const ConfigNode* node = map.Find(key);
    if (node == nullptr) return;
    if (std::ranges::find(takes, key) == takes.end()) {
      node->Report(fmt::format(
          "the stopper {} does not take it; {}", *name,
          takes.empty() ? "it has no options" : fmt::format("its options are {}", Join(takes))));
      good = false;
      return;
    }
    const auto value = get(*node);
    good = good && value;
    if (value) into = *value;
  };
  const auto integer = [](std::int64_t min) {
    return [=](const ConfigNode& node) { return node.Integer({.min = min, .max = kMaxBudget}); };
  };
  const auto number = [](double max) {
    return [=](const ConfigNode& node) { return node.Number({.min = 0, .max = max}); };
  };
  read("percentile", number(100), stopper.percentile);
  read("startup", integer(0), stopper.startup);
  read("min_trials", integer(1), stopper.min_trials);
  read("patience", integer(1), stopper.patience);
  read("min_delta", number(std::numeric_limits<double>::infinity()), stopper.min_delta);
  read("bracket", integer(1), stopper.bracket);
  read("interval", integer(1), stopper.interval);
  read("quantile", number(0.5), stopper.quantile);
  read(
      "mutate", [&](const ConfigNode& node) { return ReadParameterList(node, parameters); },
      stopper.mutate);
  return good;
}

}  // namespace

bool ReadBudget(const ConfigMap& study, StudySpec& spec) {
  const ConfigNode* budget = study.Find("budget");
  if (budget == nullptr) return true;
  const auto section = budget->Map("write 'budget: {max: 27}'");
  if (!section) return false;
  const std::vector<std::string> keys = {"min", "max", "eta", "unit"};
  section->AllowOnly(keys, ForeignKeysOf("budget"));
  const ConfigNode* min_node = section->Find("min");
  const ConfigNode* max_node = section->Find("max");
  const auto read = [](const ConfigNode* node) -> std::optional<std::int64_t> {
    if (node == nullptr) return std::nullopt;
    const std::string shown = node->is_scalar() ? node->Show() : "";
    const bool time = ParseDuration(shown).has_value() &&
                      std::isalpha(static_cast<unsigned char>(shown.back())) != 0;
    return node->Integer({.min = 1,
                          .max = kMaxBudget,
                          .instead = time ? "it counts epochs, or the 'unit': for a time write "
                                            "'deadline: 2h' or 'timeouts: {trial: 2h}'"
                                          : ""});
  };
  const auto min = read(min_node);
  const auto max = read(max_node);
  bool good = (min || min_node == nullptr) && (max || max_node == nullptr);
  spec.stopper.min_budget = min.value_or(spec.stopper.min_budget);
  spec.stopper.max_budget = max.value_or(spec.stopper.max_budget);
  if (good && spec.stopper.min_budget > spec.stopper.max_budget) {
    budget->Expected("min <= max");
    good = false;
  }
  if (const ConfigNode* node = section->Find("eta")) {
    const auto eta = node->Integer({.min = 2,
                                    .max = kMaxEta,
                                    .fraction = "one trial in 'eta' goes on: write 4 for a "
                                                "quarter, 3 for a third"});
    spec.stopper.eta = eta.value_or(spec.stopper.eta);
    good = good && eta;
  }
  if (const ConfigNode* node = section->Find("unit")) {
    const auto unit = node->Text();
    const auto metric = unit ? ReadUnit(*node, *unit) : std::nullopt;
    if (metric) spec.unit = *metric;
  }
  return good;
}

void ReadStopper(const ConfigMap& study, const ParameterNames& parameters, bool budget_good,
                 StudySpec& spec) {
  const ConfigNode* node = study.Find("stopper");
  if (node == nullptr) {
    if (budget_good) spec.sampler.levels = ComparedAt(spec.stopper);
    return;
  }
  const auto map = node->is_map() ? node->Map() : std::nullopt;
  if (map && map->entries().size() == 1 && map->entries().front().value.is_null())  // {median}
    return node->Expected("a stopper",
                          fmt::format("write 'stopper: {}'", Shown(map->entries().front().key)));
  const ConfigNode* name_node =
      map ? map->Require("name", "a stopper", "add 'name: median'") : node;
  const auto name =
      name_node != nullptr ? name_node->OneOf(StopperNames(), ForeignStoppers()) : std::nullopt;
  if (map && !ReadStopperOptions(*map, name, parameters, spec.stopper)) return;
  if (!name) return;
  spec.stopper.name = *name;
  if (!budget_good) return;
  if (NeedsMaxBudget(*name) && spec.stopper.max_budget == kNoLimit) {
    const ConfigNode* budget = study.Find("budget");
    (budget != nullptr ? *budget : *node)
        .Named("budget.max")
        .Report(fmt::format("expected the full budget of a trial, since the stopper {} needs it, "
                            "found nothing; add "
                            "'budget: {{max: 27}}'",
                            *name));
    return;
  }
  if (const auto stopper = MakeStopper(spec.stopper); !stopper)
    return node->Report(stopper.error().message);
  spec.sampler.levels = ComparedAt(spec.stopper);
}

}  // namespace sluice
