#include "engine/read/study_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "config/scalar.h"
#include "engine/read/foreign_keys.h"
#include "engine/read/parameter_list.h"
#include "engine/read/training_reader.h"
#include "policy/policy_table.h"

namespace sluice {
namespace {

constexpr int kMaxParallelism = 100'000;
constexpr int kMostFused = 10'000;
constexpr int kMaxRetries = 100;
constexpr double kLeastWeight = 0.001;
constexpr double kMostWeight = 1000;
// A worker sends three heartbeats within a lease, so a lease must not be too short.
constexpr Duration kShortestLease = std::chrono::milliseconds(100);

// Where a value is bad, the spec keeps its default, and the other keys are still read.
class RunningReader {
 public:
  RunningReader(const ConfigMap& map, const ParameterNames& names, StudySpec spec)
      : map_(map), names_(names), spec_(std::move(spec)) {}

  StudySpec Read() {
    ReadEnvironment();
    ReadDeadline();
    ReadResources();
    ReadProfile();
    ReadFuse();
    ReadShape();
    if (!spec_.training) spec_.model = ReadModel(map_);
    ReadTransfer();
    ReadPolicy();
    ReadWeight();
    ReadTimeouts();
    ReadNumbers();
    return std::move(spec_);
  }

 private:
  // A key inside a section that may be missing.
  static const ConfigNode* In(const std::optional<ConfigMap>& section, std::string_view key) {
    return section ? section->Find(key) : nullptr;
  }

  std::optional<ConfigMap> Section(std::string_view key, const std::vector<std::string>& allowed,
                                   std::string_view form) {
    const ConfigNode* node = map_.Find(key);
    if (node == nullptr) return std::nullopt;
    auto section = node->Map(fmt::format("write '{}: {}'", key, form));
    if (section) section->AllowOnly(allowed, ForeignKeysOf(key));
    return section;
  }

  // The first item of a list of {name: NAME, value: VALUE}, written as "NAME: VALUE".
  static std::string FirstPair(const ConfigNode& node) {
    const auto items = node.is_list() ? node.List() : std::nullopt;
    const auto map =
        items && !items->empty() && items->front().is_map() ? items->front().Map() : std::nullopt;
    const ConfigNode* name = map ? map->Find("name") : nullptr;
    const ConfigNode* value = map ? map->Find("value") : nullptr;
    if (name == nullptr || value == nullptr) return "NAME: value";
    return fmt::format("{}: {}", name->Show(), value->Show());
  }

  void ReadEnvironment() {
    const ConfigNode* node = map_.Find("environment");
    const auto map = node != nullptr
                         ? node->Map(fmt::format("write 'environment: {{{}}}'", FirstPair(*node)))
                         : std::nullopt;
    if (!map) return;
    std::size_t bad_templates = 0;
    for (const auto& [name, value] : map->entries()) {
      const auto fits = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      };
      if (name.empty() || !std::ranges::all_of(name, fits) ||
          std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
        value.Report(fmt::format(
            "expected a variable's name of letters, digits and '_', found '{}'", Shown(name)));
      } else if (name.starts_with("SLUICE_")) {
        value.Report(
            "expected a name that does not begin with SLUICE_, since Sluice sets those; choose "
            "another, or say --store on the command line for another store");
      }
      const auto text = value.Text();
      if (!text) continue;
      if (bad_templates < kMostBadTemplates) {
        if (const Status status = CheckTemplate(*text, names_); !status) {
          value.Report(status.error().message);
          ++bad_templates;
        }
      }
      spec_.environment[name] = *text;
    }
  }

  void ReadPolicy() {
    if (SaysTraining(map_)) spec_.policy = kDefaultTrainingPolicy;
    if (spec_.training && spec_.demand.gpus > 0) {
      spec_.notes.emplace_back(
          "resources: sluice-trainer trains on cores so far, so its trials would hold GPUs without "
          "using them; remove 'gpus'");
    }
    if (const ConfigNode* node = map_.Find("policy")) {
      const auto name = node->OneOf(PolicyNames());
      if (!name) return;
      spec_.policy = *name;
      if (const Status status = CheckPolicy(*name, spec_); !status)
        node->Report(status.error().message);
    }
    if (map_.Find("fuse") == nullptr && spec_.training && !TraitsOf(spec_.policy).can.fuses) {
      spec_.notes.push_back(fmt::format(
          "policy: {} trains each trial in a process of its own; remove the key to have "
          "trials trained together",
          spec_.policy));
    } else if (spec_.demand.fused_most > 1) {
      NoteUnlessPolicy("fuse", &PolicyAbilities::fuses, "; write 'policy: hydro'");
    }
  }

  void ReadWeight() {
    const ConfigNode* node = map_.Find("weight");
    const auto weight =
        node != nullptr ? node->Number({.min = kLeastWeight, .max = kMostWeight}) : std::nullopt;
    if (weight) spec_.weight = *weight;
  }

  // Notes that a key has no effect, unless the study's policy has this ability.
  void NoteUnlessPolicy(std::string_view key, bool PolicyAbilities::* can,
                        std::string_view advice = "") {
    if (TraitsOf(spec_.policy).can.*can) return;
    std::vector<std::string> able;
    for (const PolicyTraits& policy : Policies())
      if (policy.can.*can) able.emplace_back(policy.name);
    spec_.notes.push_back(fmt::format("{}: has no effect under the policy {}, only under {}{}", key,
                                      spec_.policy, Join(able), advice));
  }

  void ReadDeadline() {
    const ConfigNode* node = map_.Find("deadline");
    if (node == nullptr) return;
    if (node->is_scalar()) {
      const auto text = node->Text();
      if (!text) return;
      if (const auto after = ParseDuration(*text); after && *after > Duration(0)) {
        spec_.deadline_after = *after;
        return;
      }
      if (const auto at = ParseTime(*text)) {
        spec_.deadline_at = *at;
        return;
      }
    }
    const std::string text = node->is_scalar() ? node->Show() : "";
    const bool date = text.size() >= 10 && text[4] == '-' && text[7] == '-';
    node->Expected("a duration such as 20m, or a time with its zone such as 2026-01-31T18:00:00Z",
                   date ? fmt::format("write '{}T{}Z' if UTC is meant", text.substr(0, 10),
                                      text.size() >= 16 ? text.substr(11, 5) + ":00" : "00:00:00")
                        : SuggestDuration(text));
  }

  // An amount in thousandths; nothing if it has more than three decimals.
  static std::optional<Milli> ReadMilli(const ConfigNode& node, double max) {
    const auto amount = node.Number({.min = 0, .max = max});
    if (!amount) return std::nullopt;
    const double milli = std::round(*amount * 1000);
    if (std::abs(*amount * 1000 - milli) > 1e-6) {
      node.Expected("at most three decimals");
      return std::nullopt;
    }
    return static_cast<Milli>(milli);
  }

  // One amount, or the least and the most that an elastic trial runs on.
  struct Amounts {
    Milli least = 0;
    Milli most = 0;
    bool elastic() const { return least != most; }
    // The amount that a trial runs on unless the policy chooses: one whole device or core, or the
    // allowed amount nearest to that.
    Milli usual() const { return std::clamp(kWhole, least, most); }
  };
  static std::optional<Amounts> ReadAmounts(const ConfigNode& node, double max) {
    if (!node.is_list()) {
      const auto amount = ReadMilli(node, max);
      return amount ? std::optional(Amounts{*amount, *amount}) : std::nullopt;
    }
    const auto list = node.List();
    if (!list || list->size() != 2) {
      node.Expected("an amount, or the least and the most of an elastic trial, as in [1, 4]");
      return std::nullopt;
    }
    const auto least = ReadMilli((*list)[0], max);
    const auto most = ReadMilli((*list)[1], max);
    if (!least || !most) return std::nullopt;
    if (*least > 0 && *least < *most) return Amounts{*least, *most};
    node.Expected(
        "two amounts above 0, the smaller one first",
        *least == 0 ? "devices are not chosen by their numbers: write how many, as in 1" : "");
    return std::nullopt;
  }
  static bool IsWidth(Milli gpus) { return gpus <= kWhole || gpus % kWhole == 0; }

  void ReadResources() {
    const auto section =
        Section("resources", {"cpus", "gpus", "memory", "bandwidth", "lent"}, "{cpus: 2, gpus: 1}");
    bool good = true;
    Demand& demand = spec_.demand;
    std::optional<Amounts> cpus;
    if (const ConfigNode* node = In(section, "cpus")) {
      cpus = ReadAmounts(*node, 100'000);
      good = cpus.has_value();
      if (cpus) demand.cpus = cpus->usual();
    }
    if (const ConfigNode* node = In(section, "gpus")) {
      const auto gpus = ReadAmounts(*node, 1000);
      good = good && gpus;
      if (gpus && (!IsWidth(gpus->least) || !IsWidth(gpus->most))) {
        node->Expected("a share of one GPU, from 0 to 1, or a whole number of them");
        good = false;
      }
      if (gpus) demand.gpus = gpus->usual();
      if (gpus && gpus->elastic()) demand.least = gpus->least, demand.most = gpus->most;
    }
    if (cpus && cpus->elastic()) {
      if (demand.gpus == 0) {
        demand.least = cpus->least, demand.most = cpus->most;
      } else {
        In(section, "cpus")
            ->Expected("one amount beside 'gpus'", "cores go along with GPUs in proportion");
      }
    }
    if (const ConfigNode* node = In(section, "memory"))
      demand.memory_bytes = node->SizeBytes().value_or(0);
    if (const ConfigNode* node = In(section, "bandwidth"))
      demand.bandwidth = ReadMilli(*node, 1).value_or(0);
    if (const ConfigNode* node = In(section, "lent")) demand.lent = node->Boolean().value_or(true);
    for (const char* key : {"memory", "bandwidth", "lent"}) {
      const ConfigNode* node = In(section, key);
      if (node != nullptr && good && demand.gpus == 0)
        node->Expected("this key only beside 'gpus', since it applies to each GPU",
                       "remove the key");
    }
    if (good && spec_.demand.cpus == 0 && spec_.demand.gpus == 0) {
      map_.Find("resources")
          ->Expected("some of cpus or gpus", "give a small share such as {cpus: 0.1}");
    }
  }

  // Reads what was measured of a trial on devices of several kinds.
  void ReadProfile() {
    const ConfigNode* node = map_.Find("profile");
    const auto map = node != nullptr ? node->Map() : std::nullopt;
    if (!map) return;
    Demand& demand = spec_.demand;
    if (demand.gpus == 0 || demand.gpus > kWhole || demand.most > 0) {
      return node->Expected("this key only for trials on one GPU or a share of it",
                            "remove the key, or set 'resources: {gpus: 1}'");
    }
    std::vector<KindNeed> needs;
    bool differ = false;
    for (const auto& [kind, value] : map->entries()) {
      const std::vector<std::string> keys = {"unit_time", "gpus", "bandwidth"};
      if (!value.is_map() && std::ranges::find(keys, kind) != keys.end()) {
        return node->Expected("the kinds of GPU, each with what was measured on it",
                              fmt::format("write '{{A100: {}}}', if it was an A100", node->Show()));
      }
      const auto section = value.Map();
      if (!section) continue;
      section->AllowOnly(keys);
      KindProfile profile{.kind = kind};
      if (const ConfigNode* time = section->Find("unit_time")) {
        const auto unit = time->Duration();
        if (unit && *unit == Duration(0)) time->Expected("a time above 0");
        profile.seconds_per_unit = Seconds(unit.value_or(Duration(0)));
      }
      KindNeed& need = needs.emplace_back(kind, NeedOn(demand, kind));
      if (const ConfigNode* share = section->Find("gpus")) {
        need.need.gpus = ReadMilli(*share, 1).value_or(kWhole);
        if (need.need.gpus == 0) share->Expected("a share of one GPU, above 0 and at most 1");
        differ = true;
      }
      if (const ConfigNode* part = section->Find("bandwidth")) {
        need.need.bandwidth = ReadMilli(*part, 1).value_or(0);
        differ = true;
      }
      spec_.profile.push_back(std::move(profile));
    }
    if (differ) demand.kinds = std::make_shared<const std::vector<KindNeed>>(std::move(needs));
  }

  void ReadTransfer() {
    const ConfigNode* node = map_.Find("transfer");
    const auto name = node != nullptr ? node->Text() : std::nullopt;
    if (!name) return;
    spec_.transfer = *name;
    if (const Status status = CheckStudyName(*name); !status) node->Report(status.error().message);
    if (*name == spec_.name) node->Expected("the name of another study");
  }

  // Reads how many trials one program can train together.
  void ReadFuse() {
    const ConfigNode* node = map_.Find("fuse");
    Demand& demand = spec_.demand;
    if (node == nullptr) {
      // Trials of a training study are trained together wherever that is possible.
      if (spec_.training && demand.most == 0 && demand.gpus <= kWhole)
        demand.fused_most = recipe::kTrainedTogether, demand.fused_bytes = demand.memory_bytes;
      return;
    }
    const IntegerRange range{.min = 1, .max = kMostFused};
    if (node->is_map()) {
      const auto section = node->Map();
      const std::vector<std::string> keys = {"most", "memory"};
      section->AllowOnly(keys);
      const ConfigNode* most =
          section->Require("most", "how many trials one program can train", "add 'most: 64'");
      if (most != nullptr) demand.fused_most = static_cast<int>(most->Integer(range).value_or(1));
      if (const ConfigNode* memory = section->Find("memory"))
        demand.fused_bytes = memory->SizeBytes().value_or(0);
    } else {
      demand.fused_most = static_cast<int>(node->Integer(range).value_or(1));
    }
    if (demand.gpus == 0 && demand.fused_bytes > 0) {
      spec_.notes.emplace_back(
          "fuse.memory: has no effect without GPUs, since it applies to each GPU");
      demand.fused_bytes = 0;
    }
    if (demand.fused_most > 1 && demand.gpus == 0 && demand.most > 0) {
      node->Expected("this key only for trials on a fixed number of cores",
                     "remove the key, or set 'resources: {cpus: 1}'");
    } else if (demand.fused_most > 1 && (demand.gpus > kWhole || demand.most > 0)) {
      node->Expected("this key only for trials on one GPU",
                     "remove the key, or set 'resources: {gpus: 1}'");
    } else if (demand.fused_bytes > demand.memory_bytes) {
      node->Expected("at most the memory of a trial alone for each further trial",
                     "set 'resources: {memory: 4GiB}'");
    }
    if (demand.fused_bytes == 0) demand.fused_bytes = demand.memory_bytes;
  }

  // Reads which parameters determine the shape of a trial.
  void ReadShape() {
    const ConfigNode* node = map_.Find("shape");
    if (node != nullptr && SaysTraining(map_)) {
      return node->Report(
          "expected nothing beside 'train', since the shape follows from the keys that parameters "
          "reach; remove the key");
    }
    if (node == nullptr || names_.empty()) return;  // without names, the space has mistakes
    const auto names = ReadParameterList(*node, names_);
    if (!names) return;
    const std::vector<ConfigNode> items = *node->List();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string& name = (*names)[i];
      if (std::ranges::find(*names, name) != names->begin() + static_cast<std::ptrdiff_t>(i))
        return items[i].Report(fmt::format("expected each parameter once, found '{}' again", name));
      const auto index = spec_.space.Find(name);
      if (!index || spec_.space.parameters()[*index].Cardinality()) continue;
      return items[i].Report(fmt::format(
          "expected a parameter whose values recur in several trials, found '{0}', "
          "which is continuous: hardly any two trials would have the same shape; remove "
          "it, or give it steps, as in '{0}: {{float: [0, 1], step: 0.1}}'",
          name));
    }
    spec_.shape = *names;
  }

  void ReadTimeouts() {
    const auto section = Section("timeouts", {"trial", "report", "grace", "lease"}, "{trial: 10m}");
    const auto read = [&](std::string_view key, Duration& into) {
      const ConfigNode* node = In(section, key);
      const auto duration = node != nullptr ? node->Duration() : std::nullopt;
      if (duration) into = *duration;
    };
    read("trial", spec_.timeouts.trial);
    read("report", spec_.timeouts.report);
    read("grace", spec_.timeouts.grace);
    read("lease", spec_.timeouts.lease);
    if (spec_.timeouts.lease < kShortestLease) {
      In(section, "lease")
          ->Expected(fmt::format("a lease of at least {}", FormatDuration(kShortestLease)));
    }
  }

  void ReadNumbers() {
    const auto integer = [&](std::string_view key, IntegerRange range, auto& into) {
      const ConfigNode* node = map_.Find(key);
      const auto value = node != nullptr ? node->Integer(range) : std::nullopt;
      if (value) into = static_cast<int>(*value);
    };
    integer("parallelism",
            {.min = 1, .max = kMaxParallelism, .instead = "leave it out for as many as fit"},
            spec_.parallelism);
    integer("retries", {.min = 0, .max = kMaxRetries, .instead = "write 0 for none"},
            spec_.retries);
    integer("max_failures",
            {.min = 1,
             .max = kMaxTrials,
             .instead = "write how many trials, such as 20, or leave it out"},
            spec_.max_failures);
    if (const ConfigNode* node = map_.Find("seed"); node != nullptr && node->is_list()) {
      node->Expected("one whole number",
                     "a study has one seed: write 'seed: 1', and make a study of each to compare");
    } else if (node != nullptr) {
      if (const auto seed = node->Integer({.min = 0, .instead = "leave it out to have one drawn"}))
        spec_.seed = static_cast<std::uint64_t>(*seed);
    }
    if (const ConfigNode* node = map_.Find("backoff"))
      spec_.backoff = node->Duration().value_or(spec_.backoff);
    const auto size = [&](std::string_view key, std::int64_t& into) {
      const ConfigNode* node = map_.Find(key);
      const auto bytes = node != nullptr ? node->SizeBytes() : std::nullopt;
      if (!bytes) return;
      into = *bytes;
      if (*bytes == 0) node->Expected("a size above 0");
    };
    size("output_cap", spec_.output_cap_bytes);
    size("checkpoint_cap", spec_.checkpoint_cap_bytes);
  }

  const ConfigMap& map_;
  const ParameterNames& names_;
  StudySpec spec_;
};

}  // namespace

const std::vector<std::string>& RunningKeys() {
  static const auto& keys = *new std::vector<std::string>{
      "deadline", "parallelism", "resources", "timeouts",   "retries",        "backoff",
      "seed",     "environment", "policy",    "output_cap", "checkpoint_cap", "profile",
      "fuse",     "shape",       "transfer",  "weight",     "model",          "max_failures"};
  return keys;
}

StudySpec ReadRunningKeys(const ConfigMap& map, const ParameterNames& names, StudySpec spec) {
  return RunningReader(map, names, std::move(spec)).Read();
}

Status CheckPolicy(std::string_view policy, const StudySpec& spec) {
  const PolicyNeeds& needs = TraitsOf(policy).needs;
  if (needs.max_budget && spec.stopper.max_budget == kNoLimit) {
    return FailedPrecondition(
        fmt::format("the policy {} plans by what is left of each trial, and nothing says how far "
                    "trials go: add "
                    "'budget: {{max: 27}}', or take another policy",
                    policy));
  }
  if (needs.memory && spec.demand.gpus > 0 && spec.demand.memory_bytes == 0) {
    return FailedPrecondition(fmt::format(
        "the policy {} packs trials by the memory they take, and nothing says how much that is: "
        "add 'resources: {{memory: 4GiB}}', or take another policy",
        policy));
  }
  if (needs.deadline && !spec.deadline_after && !spec.deadline_at) {
    return FailedPrecondition(
        fmt::format("the policy {} is after the best model at a deadline, and there is none: add "
                    "'deadline: 30m', or take another policy",
                    policy));
  }
  return {};
}

Status CheckMetricName(std::string_view name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (!name.empty() && name.size() <= kLongestMetric && std::ranges::none_of(name, control))
    return {};
  return InvalidArgument(
      fmt::format("expected a metric's name of at most {} characters, found '{}'", kLongestMetric,
                  Shown(name)));
}

}  // namespace sluice
