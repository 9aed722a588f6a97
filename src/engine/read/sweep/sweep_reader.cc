#include "engine/read/sweep/sweep_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/read/foreign_keys.h"
#include "engine/read/study_keys.h"
#include "engine/read/sweep/sweep_command.h"
#include "engine/read/sweep/sweep_parameters.h"

namespace sluice {
namespace {

constexpr std::int64_t kMaxBrackets = 100;
// The metric of a sweep that names none. The stand-in for the wandb package reports this metric.
constexpr const char* kRuntime = "_runtime";

// Keys that have a meaning for W&B and no effect here.
const std::vector<std::string>& IdleKeys() {
  static const auto& keys = *new std::vector<std::string>{
      "apiVersion", "controller", "entity", "image_uri", "imports",   "job",     "kind",
      "launch",     "project",    "queue",  "schedule",  "scheduler", "settings"};
  return keys;
}

std::vector<std::string> SweepKeys() {
  std::vector<std::string> keys = {"program", "name",    "description",     "method",     "metric",
                                   "command", "run_cap", "early_terminate", "parameters", "wandb"};
  keys.insert(keys.end(), IdleKeys().begin(), IdleKeys().end());
  keys.insert(keys.end(), RunningKeys().begin(), RunningKeys().end());
  return keys;
}

class SweepReader {
 public:
  SweepReader(const ConfigNode& root, const ConfigMap& map) : root_(root), map_(map) {}

  StudySpec Read(std::string_view default_name) {
    map_.AllowOnly(SweepKeys(), ForeignSweepKeys());
    spec_.sweep.emplace();
    spec_.unit = "step";
    ReadName(default_name);
    ReadIdleKeys();
    ReadSpace();
    spec_.program = ReadSweepCommand(map_);
    ReadMethod();
    ReadMetric();
    ReadEarlyTerminate();
    ReadRunCap();
    ReadWandb();
    ParameterNames names;
    for (const Parameter& parameter : spec_.space.parameters()) names.insert(parameter.name);
    return ReadRunningKeys(map_, names, std::move(spec_));
  }

 private:
  void Note(std::string_view key, std::string_view what) {
    spec_.notes.push_back(fmt::format("{}: {}", key, what));
  }

  void ReadName(std::string_view default_name) {
    const ConfigNode* node = map_.Find("name");
    const auto text = node != nullptr ? node->Text() : std::nullopt;
    spec_.name = text ? StudyNameOf(*text) : "";
    if (text && spec_.name != *text && !spec_.name.empty())
      Note("name", fmt::format("the study is called {}", spec_.name));
    if (!spec_.name.empty()) return;
    spec_.name = default_name;
    if (const Status status = CheckStudyName(default_name); !status) {
      root_.Named("name").Report(status.error().message +
                                 ", the file's own name; add 'name: NAME'");
    }
  }

  void ReadIdleKeys() {
    for (const auto& [key, value] : map_.entries()) {
      if (std::ranges::find(IdleKeys(), key) != IdleKeys().end()) Note(key, "has no effect here");
    }
  }

  void ReadSpace() {
    const ConfigNode* node = map_.Require("parameters", "what to search",
                                          "add 'parameters: {lr: {min: 0.1, max: 1.0}}'");
    if (node == nullptr) return;
    if (auto space = ReadSweepParameters(*node, *spec_.sweep, spec_.notes)) {
      spec_.space = std::move(*space);
      space_good_ = true;
    }
  }

  void ReadMethod() {
    const std::vector<std::string> methods = {"grid", "random", "bayes"};
    const ConfigNode* node =
        map_.Require("method", "one of " + Join(methods), "add 'method: random'");
    const auto method = node != nullptr ? node->OneOf(methods) : std::nullopt;
    if (!method) return;
    spec_.sampler.name = *method == "bayes" ? "tpe" : *method;
    method_good_ = true;
    if (!space_good_) return;
    if (const auto sampler = MakeSampler(spec_.sampler, spec_.space, 0); !sampler) {
      node->Report(sampler.error().message);
      method_good_ = false;
    }
  }

  void ReadMetric() {
    if (map_.Find("metric") == nullptr && method_good_ && spec_.sampler.name != "tpe") {
      spec_.objective.metric = kRuntime;
      return Note("metric",
                  "there is none, so trials are compared by _runtime, the seconds that they took; "
                  "add 'metric: {name: loss, goal: minimize}' to find the best");
    }
    const ConfigNode* node = map_.Require("metric", "the metric to improve, since bayes needs one",
                                          "add 'metric: {name: loss, goal: minimize}'");
    const auto map =
        node != nullptr ? node->Map("write 'metric: {name: loss, goal: minimize}'") : std::nullopt;
    if (!map) return;
    const std::vector<std::string> allowed = {"name", "goal", "target", "impute",
                                              "impute_while_running"};
    const std::vector<std::pair<std::string, std::string>> foreign = {
        {"mode", "'goal: maximize'"},
        {"direction", "'goal: maximize'"},
        {"metric", "'name: loss'"}};
    map->AllowOnly(allowed, foreign);
    for (const char* key : {"impute", "impute_while_running"}) {
      if (map->Find(key) != nullptr) Note(fmt::format("metric.{}", key), "has no effect here");
    }
    const ConfigNode* name_node = map->Require("name", "the metric's name", "add 'name: loss'");
    const auto name = name_node != nullptr ? name_node->Text() : std::nullopt;
    if (name) ReadMetricName(*name_node, *name);
    if (const ConfigNode* goal_node = map->Find("goal")) {
      const std::vector<std::string> goals = {"minimize", "maximize"};
      const std::vector<std::pair<std::string, std::string>> words = {{"max", "maximize"},
                                                                      {"min", "minimize"}};
      const auto goal = goal_node->OneOf(goals, words);
      if (goal && *goal == "maximize") spec_.objective.direction = Direction::kMaximize;
    }
    if (const ConfigNode* target_node = map->Find("target")) {
      const auto target = target_node->Number();
      if (target && name) spec_.stop_at.push_back({*name, *target, spec_.objective.direction});
    }
  }

  void ReadMetricName(const ConfigNode& node, const std::string& name) {
    spec_.objective.metric = name;
    if (const Status status = CheckMetricName(name); !status)
      return node.Report(status.error().message);
    if (name == spec_.unit) {
      node.Report(fmt::format("expected a metric, found {}, which is the unit of work here", name));
    }
  }

  void ReadEarlyTerminate() {
    const ConfigNode* node = map_.Find("early_terminate");
    const auto map = node != nullptr
                         ? node->Map("write 'early_terminate: {type: hyperband, min_iter: 3}'")
                         : std::nullopt;
    if (!map) return;
    const std::vector<std::string> allowed = {"type", "min_iter", "max_iter", "s", "eta", "strict"};
    map->AllowOnly(allowed);
    const std::vector<std::string> types = {"hyperband"};
    const ConfigNode* type = map->Require("type", "hyperband", "add 'type: hyperband'");
    bool good = type == nullptr || type->OneOf(types).has_value();
    const auto read = [&](std::string_view key, IntegerRange range) -> std::optional<std::int64_t> {
      const ConfigNode* found = map->Find(key);
      if (found == nullptr) return std::nullopt;
      const auto value = found->Integer(range);
      good = good && value;
      return value;
    };
    const auto min = read("min_iter", {.min = 1, .max = kMaxBudget});
    const auto max = read("max_iter", {.min = 1, .max = kMaxBudget});
    const auto brackets = read("s", {.min = 1, .max = kMaxBrackets});
    const auto eta = read("eta", {.min = 2, .max = kMaxEta});
    if (const ConfigNode* strict = map->Find("strict")) {
      if (strict->Boolean()) Note("early_terminate.strict", "has no effect here");
    }
    if (!good) return;
    if (min && max && *min > *max) {
      return node->Report(fmt::format(
          "expected min_iter <= max_iter, found {} and {}; remove max_iter, or lower min_iter",
          *min, *max));
    }
    if (!min && !max) return node->Expected("min_iter, or max_iter and s", "add 'min_iter: 3'");
    spec_.stopper = {.name = "asha",
                     .min_budget = min.value_or(1),
                     .max_budget = max.value_or(kMaxBudget),
                     .eta = eta.value_or(3)};
    if (!min) {
      if (!brackets) return node->Expected("s, the number of brackets, beside max_iter");
      Work first = *max;
      for (std::int64_t i = 0; i < *brackets && first > 1; ++i)
        first = (first + spec_.stopper.eta - 1) / spec_.stopper.eta;
      spec_.stopper.min_budget = first;
    }
    if (const auto stopper = MakeStopper(spec_.stopper); !stopper)
      node->Report(stopper.error().message);
  }

  void ReadRunCap() {
    if (const ConfigNode* node = map_.Find("run_cap")) {
      if (const auto cap = node->Integer({.min = 1, .max = kMaxTrials}))
        spec_.trials = static_cast<int>(*cap);
      return;
    }
    spec_.trials = kMaxTrials;
    spec_.endless = spec_.sampler.name != "grid";
    const auto points = space_good_ ? spec_.space.Cardinality() : std::nullopt;
    if (spec_.endless || !method_good_ || !points) return;
    if (*points > static_cast<std::uint64_t>(kMaxTrials)) {
      root_.Named("run_cap").Report(
          fmt::format("expected how many trials, 1 to {}, since the grid has {} points, found "
                      "nothing; add 'run_cap: 24', or make the grid smaller",
                      kMaxTrials, *points));
      return;
    }
    spec_.trials = static_cast<int>(*points);
  }

  void ReadWandb() {
    const std::vector<std::string> which = {"real", "stand-in"};
    const ConfigNode* node = map_.Find("wandb");
    const auto word = node != nullptr ? node->OneOf(which) : std::nullopt;
    if (word) spec_.sweep->real_wandb = *word == "real";
  }

  const ConfigNode& root_;
  const ConfigMap& map_;
  StudySpec spec_;
  bool space_good_ = false;
  bool method_good_ = false;
};

}  // namespace

bool IsSweep(const ConfigMap& map) {
  const auto has = [&](std::string_view key) { return map.Find(key) != nullptr; };
  return (has("method") || has("parameters")) && !has("space") && !has("objective");
}

StudySpec ReadSweep(const ConfigNode& root, const ConfigMap& map, std::string_view default_name) {
  return SweepReader(root, map).Read(default_name);
}

}  // namespace sluice
