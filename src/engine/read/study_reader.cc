#include "engine/read/study_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "config/config.h"
#include "engine/read/foreign_keys.h"
#include "engine/read/points_reader.h"
#include "engine/read/study_keys.h"
#include "engine/read/sweep_reader.h"
#include "engine/read/templates.h"
#include "engine/study.h"
#include "search/rungs/judged_at.h"
#include "space/space_reader.h"

namespace sluice {
namespace {

const std::vector<std::string>& StudyKeys() {
  static const auto& keys = *new std::vector<std::string>{
      "study",          "program", "space",      "constraints", "objective", "sampler",
      "stopper",        "budget",  "trials",     "stop_at",     "deadline",  "parallelism",
      "resources",      "profile", "fuse",       "transfer",    "timeouts",  "retries",
      "max_failures",   "backoff", "seed",       "environment", "policy",    "output_cap",
      "checkpoint_cap", "enqueue", "warm_start", "weight",      "model"};
  return keys;
}

// Reads the keys of a study one by one into a spec. A key with a bad value leaves its default, so
// that the other keys are read all the same.
class StudyReader {
 public:
  StudyReader(const ConfigNode& root, ConfigMap map) : root_(root), map_(std::move(map)) {}

  StudySpec Read(const StudyPart& part) {
    std::vector<std::string> keys = StudyKeys();
    keys.insert(keys.end(), part.more_keys.begin(), part.more_keys.end());
    map_.AllowOnly(keys, ForeignKeys());
    ReadName(part.default_name);
    ReadSpaceSection();
    if (part.needs_program || map_.Find("program") != nullptr) ReadProgram();
    ReadSearch();
    ReadPoints();
    ReadTrials();
    ReadStopAt();
    spec_.demand.memory_bytes = part.memory_bytes;
    return ReadRunningKeys(map_, parameters_, std::move(spec_));
  }

 private:
  std::optional<ConfigMap> Section(std::string_view key, const std::vector<std::string>& allowed) {
    const ConfigNode* node = map_.Find(key);
    if (node == nullptr) return std::nullopt;
    auto section = node->Map("write 'budget: {max: 27}'");
    if (section) section->AllowOnly(allowed, ForeignKeysOf(key));
    return section;
  }

  void ReadName(std::string_view default_name) {
    spec_.name = default_name;
    if (const ConfigNode* node = map_.Find("study")) {
      if (!node->is_scalar()) return node->Expected("a name", "write 'study: NAME'");
      const auto name = node->Text();
      if (!name) return;
      spec_.name = *name;
      if (const Status status = CheckStudyName(*name); !status)
        node->Report(status.error().message);
    } else if (const Status status = CheckStudyName(default_name); !status) {
      root_.Named("study").Report(status.error().message +
                                  ", the file's own name; add 'study: NAME'");
    }
  }

  void ReadSpaceSection() {
    const ConfigNode* node =
        map_.Require("space", "what to tune", "add 'space: {lr: {float: [0.1, 1]}}'");
    if (node == nullptr) return;
    // Templates may name a parameter that is itself described wrongly.
    if (node->is_map()) {
      const ConfigMap section = *node->Map();
      for (const auto& entry : section.entries()) {
        parameters_.insert(entry.key);
        if (!IsParameter(entry.value)) map_.Excuse(entry.key);
      }
      names_known_ = true;
    }
    if (auto space = ReadSpace(*node, {.reserved = TemplateWords(),
                                       .beside = StudyKeys(),
                                       .constraints = map_.Find("constraints")})) {
      spec_.space = std::move(*space);
      space_good_ = true;
    }
  }

  void ReadProgram() {
    const ConfigNode* node =
        map_.Require("program", "the program of a trial", "add 'program: python train.py {args}'");
    if (node == nullptr) return;
    if (node->is_list()) {
      const auto items = node->List();
      for (const ConfigNode& item : *items) {
        const auto text = item.Text();
        if (!text) continue;
        CheckItem(item, *text);
        spec_.program.push_back(*text);
      }
      if (items->empty()) node->Expected("a program with at least one item");
    } else if (node->is_scalar()) {
      const auto text = node->Text();
      if (!text) return;
      auto items = SplitCommandLine(*text);
      if (!items) return node->Report(items.error().message);
      for (const std::string& item : *items) CheckItem(*node, item);
      spec_.program = std::move(*items);
      if (spec_.program.empty()) node->Expected("a program with at least one item");
    } else {
      node->Expected("a command line or a list of texts", "quote a text that begins with a brace");
    }
    if (spec_.program.empty()) return;
    if (spec_.program.front().empty()) node->Expected("a program that is not ''");
    CheckAlwaysThere(*node, spec_.program.front());
  }

  // Refuses a program whose name depends on a parameter that is not always active: an item that
  // names an inactive parameter is left out.
  void CheckAlwaysThere(const ConfigNode& node, const std::string& program) {
    if (!space_good_) return;
    TemplateValues values;
    for (const std::string& word : TemplateWords()) values[word];
    for (const std::string& name : parameters_) values[name];
    for (std::size_t i = 0; i < spec_.space.size(); ++i) {
      const Parameter& parameter = spec_.space.parameters()[i];
      if (spec_.space.condition(i) == nullptr) continue;
      values.erase(parameter.name);
      if (HasValues(program, values)) continue;
      return node.Report(
          fmt::format("expected a program that is there in every trial, found '{}', "
                      "since {} is not always active; remove its condition",
                      Shown(program), parameter.name));
    }
  }

  void CheckItem(const ConfigNode& node, std::string_view item) {
    if (bad_templates_ >= kMostBadTemplates || !names_known_) return;
    if (const Status status = CheckProgramItem(item, parameters_); !status) {
      node.Report(status.error().message);
      ++bad_templates_;
    }
  }

  void ReadSearch() {
    ReadBudget();
    ReadObjective();
    ReadSampler();
    ReadStopper();
  }

  std::optional<std::string> ReadMetric(const ConfigNode& node, const std::string& metric) {
    if (const Status status = CheckMetricName(metric); !status) {
      node.Report(status.error().message);
      return std::nullopt;
    }
    if (metric == spec_.unit) {
      node.Report(fmt::format(
          "expected a metric, found {}, which is the unit of the budget; name what the program "
          "reports",
          metric));
      return std::nullopt;
    }
    return metric;
  }

  void ReadObjective() {
    const std::string form = "{maximize: METRIC} or {minimize: METRIC}";
    const ConfigNode* node = map_.Require("objective", form, "add 'objective: {minimize: loss}'");
    if (node == nullptr) return;
    constexpr std::string_view kOne =
        "a study has one objective: report a number that weighs what counts, and name that";
    if (node->is_list()) return node->Expected(form, kOne);
    if (node->is_scalar()) {
      const std::string word = node->Show();
      for (const std::string_view direction : {"maximize", "minimize", "max", "min"}) {
        if (!word.starts_with(direction)) continue;
        const std::size_t open = word.find('(');
        if (open != std::string::npos && word.ends_with(')')) {
          return node->Expected(form,
                                fmt::format("write '{{{}: {}}}'",
                                            direction.starts_with("max") ? "maximize" : "minimize",
                                            word.substr(open + 1, word.size() - open - 2)));
        }
        const std::string_view metric =
            std::string_view(word).substr(std::min(word.find_first_of(' '), word.size() - 1) + 1);
        return node->Expected(form,
                              fmt::format("write '{{{}: {}}}'",
                                          direction.starts_with("max") ? "maximize" : "minimize",
                                          metric.empty() ? "loss" : metric));
      }
      return node->Expected(form,
                            fmt::format("write '{{maximize: {0}}}' or '{{minimize: {0}}}'", word));
    }
    if (!node->is_map()) return node->Expected(form);
    const ConfigMap map = *node->Map();
    const std::vector<std::string> allowed = {"maximize", "minimize", "of"};
    for (const auto& [metric, direction] : map.entries()) {  // {acc: maximize}
      if (direction.is_scalar() && std::ranges::find(allowed, direction.Show()) != allowed.end() &&
          std::ranges::find(allowed, metric) == allowed.end() && map.entries().size() == 1)
        return node->Expected(form, fmt::format("write '{{{}: {}}}'", direction.Show(), metric));
    }
    map.AllowOnly(allowed, ForeignKeysOf("objective"));
    std::string of = "best";
    if (const ConfigNode* which = map.Find("of")) {
      const std::vector<std::string> reports = {"best", "last"};
      const std::vector<std::pair<std::string, std::string>> foreign = {
          {"final", "last"}, {"end", "last"}, {"max", "best"}, {"min", "best"}};
      const auto named = which->OneOf(reports, foreign);
      if (!named) return;
      of = *named;
    }
    const ConfigNode* maximize = map.Find("maximize");
    const ConfigNode* minimize = map.Find("minimize");
    if (maximize != nullptr && minimize != nullptr)
      return node->Expected("either maximize or minimize", kOne);
    if (maximize == nullptr && minimize == nullptr) {
      // An unknown key has been reported and is likely the one that is missing.
      if (map.entries().empty() || map.Find("of") != nullptr) node->Expected(form);
      return;
    }
    const ConfigNode& value = maximize != nullptr ? *maximize : *minimize;
    if (value.is_list()) return value.Expected("one metric", kOne);
    const auto text = value.Text();
    const auto metric = text ? ReadMetric(value, *text) : std::nullopt;
    if (!metric) return;
    spec_.objective = {*metric, maximize != nullptr ? Direction::kMaximize : Direction::kMinimize,
                       of == "last" ? Of::kLast : Of::kBest};
    objective_good_ = true;
  }

  void ReadSampler() {
    const ConfigNode* node = map_.Find("sampler");
    if (node == nullptr) return;
    const auto name = node->OneOf(SamplerNames(), ForeignSamplers());
    sampler_good_ = name.has_value();
    if (!name) return;
    spec_.sampler.name = *name;
    if (!space_good_) return;
    if (const auto sampler = MakeSampler(spec_.sampler, spec_.space, 0); !sampler) {
      node->Report(sampler.error().message);
      sampler_good_ = false;
    }
  }

  void ReadBudget() {
    const auto section = Section("budget", {"min", "max", "eta", "unit"});
    if (!section) {
      budget_good_ = map_.Find("budget") == nullptr;
      return;
    }
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
    budget_good_ = (min || min_node == nullptr) && (max || max_node == nullptr);
    spec_.stopper.min_budget = min.value_or(spec_.stopper.min_budget);
    spec_.stopper.max_budget = max.value_or(spec_.stopper.max_budget);
    if (budget_good_ && spec_.stopper.min_budget > spec_.stopper.max_budget) {
      map_.Find("budget")->Expected("min <= max");
      budget_good_ = false;
    }
    if (const ConfigNode* node = section->Find("eta")) {
      const auto eta = node->Integer({.min = 2,
                                      .max = kMaxEta,
                                      .fraction = "one trial in 'eta' goes on: write 4 for a "
                                                  "quarter, 3 for a third"});
      spec_.stopper.eta = eta.value_or(spec_.stopper.eta);
      budget_good_ = budget_good_ && eta;
    }
    if (const ConfigNode* node = section->Find("unit")) {
      const auto unit = node->Text();
      const auto metric = unit ? ReadUnit(*node, *unit) : std::nullopt;
      if (metric) spec_.unit = *metric;
    }
  }

  static std::optional<std::string> ReadUnit(const ConfigNode& node, const std::string& unit) {
    const auto fits = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    };
    if (!unit.empty() && unit.size() <= kLongestMetric && std::ranges::all_of(unit, fits))
      return unit;
    node.Expected("a unit of letters, digits, '_' and '-', such as epoch or step");
    return std::nullopt;
  }

  void ReadStopper() {
    const ConfigNode* node = map_.Find("stopper");
    if (node == nullptr) {
      if (budget_good_) spec_.sampler.levels = ComparedAt(spec_.stopper);
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
    if (map && !ReadStopperOptions(*map, name)) return;
    if (!name) return;
    spec_.stopper.name = *name;
    if (!budget_good_) return;
    if (NeedsMaxBudget(*name) && spec_.stopper.max_budget == kNoLimit) {
      const ConfigNode* budget = map_.Find("budget");
      (budget != nullptr ? *budget : *node)
          .Named("budget.max")
          .Report(fmt::format("expected the full budget of a trial, since the stopper {} needs it, "
                              "found nothing; add "
                              "'budget: {{max: 27}}'",
                              *name));
      return;
    }
    if (const auto stopper = MakeStopper(spec_.stopper); !stopper)
      return node->Report(stopper.error().message);
    spec_.sampler.levels = ComparedAt(spec_.stopper);
  }

  // Reads what belongs to the stopper of this name, and reports what does not.
  bool ReadStopperOptions(const ConfigMap& map, const std::optional<std::string>& name) {
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
    read("percentile", number(100), spec_.stopper.percentile);
    read("startup", integer(0), spec_.stopper.startup);
    read("min_trials", integer(1), spec_.stopper.min_trials);
    read("patience", integer(1), spec_.stopper.patience);
    read("min_delta", number(std::numeric_limits<double>::infinity()), spec_.stopper.min_delta);
    read("bracket", integer(1), spec_.stopper.bracket);
    read("interval", integer(1), spec_.stopper.interval);
    read("quantile", number(0.5), spec_.stopper.quantile);
    read(
        "mutate", [this](const ConfigNode& node) { return ReadMutate(node); },
        spec_.stopper.mutate);
    return good;
  }

  // Names of parameters.
  std::optional<std::vector<std::string>> ReadMutate(const ConfigNode& node) {
    if (!node.is_list()) {
      std::vector<std::string> given;
      if (node.is_map()) {
        const ConfigMap map = *node.Map();
        for (const auto& entry : map.entries()) given.push_back(entry.key);
      }
      if (node.is_scalar()) given.push_back(node.Show());
      node.Expected("a list of parameters", given.empty()
                                                ? "write the names, as in '[lr]'"
                                                : fmt::format("write '[{}]'", Join(given)));
      return std::nullopt;
    }
    const auto items = node.List();
    const std::vector<std::string> known(parameters_.begin(), parameters_.end());
    std::vector<std::string> names;
    for (const ConfigNode& item : *items) {
      const auto name = item.Text();
      if (!name) return std::nullopt;
      if (!parameters_.contains(*name)) {
        item.Report(fmt::format("expected a parameter of the space ({}), found '{}'{}",
                                FirstBytes(Join(known), kLongestShown), Shown(*name),
                                DidYouMean(*name, known)));
        return std::nullopt;
      }
      names.push_back(*name);
    }
    if (names.empty()) {
      node.Expected("a parameter at least, as in [lr]");
      return std::nullopt;
    }
    return names;
  }

  void ReadPoints() {
    if (const ConfigNode* node = map_.Find("enqueue"); node != nullptr && space_good_)
      spec_.enqueue = ReadEnqueue(*node, spec_.space);
    if (const ConfigNode* node = map_.Find("warm_start"))
      spec_.warm_start = ReadWarmStart(*node, space_good_ ? &spec_.space : nullptr);
  }

  void ReadTrials() {
    if (map_.Find("transfer") != nullptr) {
      spec_.trials = 1;
      if (map_.Find("trials") != nullptr)
        map_.Find("trials")->Report(
            "expected nothing beside 'transfer', since its trials are the best of another study; "
            "remove the key");
      return;
    }
    if (const ConfigNode* node = map_.Find("trials")) {
      if (const auto trials = node->Integer({.min = 1, .max = kMaxTrials}))
        spec_.trials = static_cast<int>(*trials);
      return;
    }
    if (spec_.sampler.name != "grid") {
      // The sampler that was meant is not known, and so neither is whether `trials` is missing.
      if (!sampler_good_) return;
      map_.Require("trials", fmt::format("how many trials, 1 to {}", kMaxTrials),
                   "add 'trials: 24'");
      return;
    }
    const auto points = space_good_ && sampler_good_ ? spec_.space.Cardinality() : std::nullopt;
    if (!points) return;
    if (*points > static_cast<std::uint64_t>(kMaxTrials)) {
      root_.Named("trials").Report(
          fmt::format("expected how many trials, 1 to {}, since the grid has {} points, found "
                      "nothing; add 'trials: 24', or make the grid smaller",
                      kMaxTrials, *points));
      return;
    }
    // Points of the user's own come on top of the grid.
    spec_.trials = static_cast<int>(*points) + static_cast<int>(spec_.enqueue.size());
  }

  void ReadStopAt() {
    const ConfigNode* node = map_.Find("stop_at");
    const auto map = node != nullptr ? node->Map("write 'stop_at: {METRIC: 0.9}'") : std::nullopt;
    if (!map) return;
    if (map->entries().empty()) node->Expected("a metric and its value, as in {accuracy: 0.9}");
    for (const auto& [metric, value] : map->entries()) {
      if (value.is_null()) {
        value.Expected("a value for the metric", "write 'stop_at: {METRIC: 0.9}'");
        continue;
      }
      if (!ReadMetric(value, metric)) continue;
      if (const auto stop_at = ReadThreshold(metric, value)) spec_.stop_at.push_back(*stop_at);
    }
  }

  std::optional<StopAt> ReadThreshold(const std::string& metric, const ConfigNode& value) {
    if (!value.is_map()) {
      const auto threshold = value.Number();
      if (!threshold || !objective_good_) return std::nullopt;
      if (metric == spec_.objective.metric)
        return StopAt{metric, *threshold, spec_.objective.direction};
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
    return StopAt{metric, *threshold,
                  below != nullptr ? Direction::kMinimize : Direction::kMaximize};
  }

  const ConfigNode root_;
  const ConfigMap map_;
  StudySpec spec_;
  ParameterNames parameters_;
  std::size_t bad_templates_ = 0;
  bool names_known_ = false;  // the names of the parameters are known
  bool space_good_ = false;
  bool objective_good_ = false;
  bool sampler_good_ = true;
  bool budget_good_ = true;
};

// Reports a study that stands below one of its keys instead of at the margin. True if it did.
bool ReportNested(const ConfigMap& map) {
  const auto is_one = [](const ConfigMap& keys) {
    return std::ranges::count_if(keys.entries(), [](const ConfigMap::Entry& entry) {
             return entry.key == "program" || entry.key == "space" || entry.key == "objective" ||
                    entry.key == "parameters" || entry.key == "trials";
           }) >= 2;
  };
  if (is_one(map)) return false;
  for (const ConfigMap::Entry& entry : map.entries()) {
    if (!entry.value.is_map() || !is_one(*entry.value.Map())) continue;
    entry.value.Report(fmt::format(
        "expected the keys of the study at the beginning of their lines, found them below '{}'; "
        "move them to the left{}",
        entry.key,
        entry.key == "study" ? ", and write 'study: NAME'"
                             : fmt::format(", and remove '{}:'", entry.key)));
    return true;
  }
  return false;
}

}  // namespace

namespace {

bool FitsInName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string StudyNameOf(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kLongestStudyName)) {
    const bool fits = FitsInName(c);
    if (fits ? !name.empty() || (c != '.' && c != '-') : !name.empty() && name.back() != '-')
      name += fits ? c : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

Status CheckStudyName(std::string_view name) {
  if (!name.empty() && name.size() <= kLongestStudyName && std::ranges::all_of(name, FitsInName) &&
      name.front() != '.' && name.front() != '-') {
    return {};
  }
  const std::string ours = StudyNameOf(name);
  return InvalidArgument(fmt::format(
      "expected a name of at most {} letters, digits, '.', '_' and '-' that does not begin "
      "with '.' or '-', found '{}'{}",
      kLongestStudyName, Shown(name), ours.empty() ? "" : fmt::format(" (such as {})", ours)));
}

StudySpec ReadStudyPart(const ConfigNode& node, const ConfigMap& map, const StudyPart& part) {
  return StudyReader(node, map).Read(part);
}

Result<StudySpec> ReadStudy(std::string_view text, std::string_view file,
                            std::string_view default_name) {
  SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
  const ConfigNode root = config.root();
  if (!root.is_map()) {
    root.Expected("a study, keys such as program, space and objective");
    return std::unexpected(config.Check().error());
  }
  const ConfigMap map = *root.Map();
  if (ReportNested(map)) return std::unexpected(config.Check().error());
  StudySpec spec = IsSweep(map)
                       ? ReadSweep(root, map, default_name)
                       : ReadStudyPart(root, map, {.default_name = std::string(default_name)});
  SLUICE_TRY(config.Check());
  return spec;
}

}  // namespace sluice
