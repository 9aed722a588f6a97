#include "sim/read/policy_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/study.h"
#include "policy/policy.h"

namespace sluice {
namespace {

constexpr std::size_t kMostPolicies = 100;

// Keys that may differ between policies: how a study is searched and run.
const std::vector<std::string>& KeysOfPolicies() {
  static const auto& keys = *new std::vector<std::string>{
      "sampler", "stopper", "budget", "trials",   "parallelism", "resources", "weight",
      "profile", "fuse",    "shape",  "timeouts", "retries",     "backoff",   "workload"};
  return keys;
}

// Keys that may not differ.
const std::vector<std::string>& KeysOfTrials() {
  static const auto& keys =
      *new std::vector<std::string>{"study", "space",   "constraints", "objective", "enqueue",
                                    "seed",  "arrives", "deadline",    "stop_at",   "transfer"};
  return keys;
}

bool Has(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

// Whether each key may differ between policies or is in `more`. Reports all other keys.
bool HasGoodKeys(const ConfigMap& map, const std::vector<std::string>& more) {
  std::vector<std::string> good = more;
  good.insert(good.end(), KeysOfPolicies().begin(), KeysOfPolicies().end());
  std::vector<std::string> known = good;
  known.insert(known.end(), KeysOfTrials().begin(), KeysOfTrials().end());
  map.AllowOnly(known);
  for (const auto& [key, value] : map.entries()) {
    if (!Has(KeysOfTrials(), key)) continue;
    value.Report(
        fmt::format("expected a key that may differ between policies, {}, found one that defines "
                    "the trials: say it in the studies",
                    Join(good)));
  }
  const ConfigNode* workload = map.Find("workload");
  const auto work = workload != nullptr && workload->is_map() ? workload->Map() : std::nullopt;
  const ConfigNode* curve = work ? work->Find("curve") : nullptr;
  if (curve != nullptr)
    curve->Report("expected the same curve under all policies; say it in the studies");
  return curve == nullptr && std::ranges::all_of(map.entries(), [&](const auto& entry) {
           return Has(good, entry.key);
         });
}

// The policy of an entry. If the entry does not name one correctly, reports that and returns
// nullopt.
std::optional<std::string> PolicyOf(const std::string& label, const ConfigNode& node,
                                    const ConfigMap& map) {
  const bool is_policy = Has(PolicyNames(), label);
  const ConfigNode* said = map.Find("policy");
  if (said == nullptr) {
    if (is_policy) return label;
    node.Report(
        fmt::format("expected the name of a policy, or a label with one inside, found neither{}; "
                    "add 'policy: "
                    "fifo', or another of {}",
                    DidYouMean(label, PolicyNames()), Join(PolicyNames())));
    return std::nullopt;
  }
  auto policy = said->OneOf(PolicyNames());
  if (policy && is_policy && *policy != label) {
    said->Report(
        fmt::format("expected {}, since that is a policy of its own, found {}; call the "
                    "entry something else",
                    label, *policy));
    return std::nullopt;
  }
  return policy;
}

// What an entry says of single studies. Reports mistakes, and then returns nullopt.
std::optional<std::map<std::string, PolicyEntry::OfStudy>> ReadStudies(const ConfigNode& node) {
  const auto map = node.Map();
  if (!map) return std::nullopt;
  std::map<std::string, PolicyEntry::OfStudy> studies;
  bool good = true;
  for (const auto& [name, value] : map->entries()) {
    if (value.is_scalar() && value.Text() == "none") {
      studies.emplace(name, PolicyEntry::OfStudy{value, std::nullopt});
      continue;
    }
    const auto keys = value.is_map() ? value.Map() : std::nullopt;
    if (!keys) value.Expected("keys of that study, or 'none' to leave it out");
    good = keys && HasGoodKeys(*keys, {}) && good;
    studies.emplace(name, PolicyEntry::OfStudy{value, keys});
  }
  if (!good) return std::nullopt;
  return studies;
}

std::optional<PolicyEntry> ReadEntry(const std::string& label, const ConfigNode& node) {
  if (const Status status = CheckStudyName(label); !status) node.Report(status.error().message);
  const auto map = node.Map();
  if (!map || !HasGoodKeys(*map, {"policy", "studies"})) return std::nullopt;
  auto policy = PolicyOf(label, node, *map);
  const ConfigNode* of_studies = map->Find("studies");
  auto studies = of_studies != nullptr ? ReadStudies(*of_studies)
                                       : std::map<std::string, PolicyEntry::OfStudy>();
  if (!policy || !studies) return std::nullopt;
  return PolicyEntry(label, *std::move(policy), node, *map, *std::move(studies));
}

}  // namespace

PolicyEntry::PolicyEntry(std::string label, std::string policy, const ConfigNode& node,
                         const ConfigMap& map, std::map<std::string, OfStudy> studies)
    : label_(std::move(label)),
      policy_(std::move(policy)),
      node_(node),
      map_(map.Without("studies")),
      studies_(std::move(studies)) {}

bool PolicyEntry::LeavesOut(const std::string& study) const {
  const auto found = studies_.find(study);
  return found != studies_.end() && !found->second.map;
}

std::vector<ConfigMap> PolicyEntry::LayersOf(const std::string& study) const {
  const auto found = studies_.find(study);
  if (found == studies_.end() || !found->second.map) return {map_};
  return {*found->second.map, map_};
}

const ConfigNode& PolicyEntry::NodeOf(const std::string& study) const {
  const auto found = studies_.find(study);
  return found == studies_.end() ? node_ : found->second.node;
}

void PolicyEntry::CheckNames(const std::vector<std::string>& studies) const {
  for (const auto& [name, said] : studies_) {
    if (Has(studies, name)) continue;
    said.node.Report(fmt::format("expected a study of the scenario, {}, found '{}'{}",
                                 Join(studies), Shown(name), DidYouMean(name, studies)));
  }
}

std::vector<PolicyEntry> ReadPolicyEntries(const ConfigNode* node) {
  const auto map = node != nullptr ? node->Map() : std::nullopt;
  if (!map) return {};
  if (map->entries().size() > kMostPolicies) {
    node->Report(
        fmt::format("expected at most {} entries, found {}", kMostPolicies, map->entries().size()));
    return {};
  }
  std::vector<PolicyEntry> entries;
  for (const auto& [label, value] : map->entries()) {
    if (auto entry = ReadEntry(label, value)) entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace sluice
