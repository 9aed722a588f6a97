#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "config/config.h"
#include "engine/read/study_keys.h"
#include "policy/policy.h"
#include "sim/read/cluster_reader.h"
#include "sim/read/pipeline_reader.h"
#include "sim/read/policy_reader.h"
#include "sim/read/scenario.h"
#include "sim/read/scenario_study_reader.h"
#include "space/same_points.h"

namespace sluice {
namespace {

const std::vector<std::string>& GoalNames() {
  static const auto& names =
      *new std::vector<std::string>{"makespan", "time-to-target", "error-at-deadline"};
  return names;
}

constexpr int kMostSeeds = 10'000;
constexpr std::size_t kMostStudies = 1000;
// The most values that are read. A value counts as often as it is read: the defaults are read for
// every study, and every study is read again for every entry of `policies`.
constexpr std::size_t kMostLayeredNodes = 10 * kMaxConfigNodes;

// Reads the keys of a scenario one by one. A key with mistakes keeps its default value, and the
// other keys are still read.
class ScenarioReader {
 public:
  ScenarioReader(const ConfigNode& root, std::string_view file, std::string_view cluster)
      : root_(root), map_(*root.Map()), file_(file), cluster_(cluster) {}

  Scenario Read(std::string_view default_name) {
    AllowKeys();
    ReadName(default_name);
    if (const ConfigNode* node = map_.Find("seeds")) {
      if (const auto seeds = node->Integer({.min = 1, .max = kMostSeeds}))
        scenario_.seeds = static_cast<int>(*seeds);
    }
    const std::vector<std::string> elsewhere = ReadNodes();
    ReadPipelineJobs(map_.Find("pipeline_jobs"), scenario_);
    scenario_.failures = ReadFailures(map_.Find("failures"), scenario_.nodes, elsewhere);
    ReadDefaults();
    entries_ = ReadPolicyEntries(map_.Find("policies"));
    for (const PolicyEntry& entry : entries_) {
      scenario_.policies.push_back({.label = entry.label(),
                                    .policy = entry.policy(),
                                    .differs = entry.node().Show(),
                                    .studies = {}});
    }
    ReadStudies();
    CheckTransfers();
    ReadCompare();
    ReadGoal();
    return std::move(scenario_);
  }

  Scenario ReadNodesAlone() {
    AllowKeys();
    ReadNodes();
    return std::move(scenario_);
  }

 private:
  void AllowKeys() const {
    const std::vector<std::string> keys = {"scenario", "goal",          "seeds",   "nodes",
                                           "clusters", "defaults",      "studies", "policies",
                                           "compare",  "pipeline_jobs", "failures"};
    map_.AllowOnly(keys);
  }

  // Returns the names of the nodes of the clusters that are not chosen.
  std::vector<std::string> ReadNodes() {
    ScenarioCluster cluster = ReadCluster(map_, cluster_);
    nodes_good_ = !cluster.nodes.empty();
    scenario_.nodes = std::move(cluster.nodes);
    scenario_.clusters = std::move(cluster.names);
    scenario_.cluster = std::move(cluster.chosen);
    return std::move(cluster.elsewhere);
  }

  void ReadName(std::string_view default_name) {
    scenario_.name = default_name;
    const ConfigNode* node = map_.Find("scenario");
    if (node == nullptr) return;
    const auto name = node->Text();
    if (!name) return;
    scenario_.name = *name;
    if (const Status status = CheckStudyName(*name); !status) node->Report(status.error().message);
  }

  void ReadDefaults() {
    const ConfigNode* node = map_.Find("defaults");
    if (node == nullptr) return;
    defaults_ = node->Map();
    if (!defaults_) return;
    defaults_size_ = node->size();
    if (const ConfigNode* name = defaults_->Find("study"))
      name->Report("expected no name, since studies have names of their own; remove the key");
  }

  void ReadStudies() {
    const ConfigNode* list = map_.Require("studies", "a list of studies");
    const auto items = list != nullptr ? list->List() : std::nullopt;
    if (!items) return;
    if (items->empty()) return list->Expected("at least one study");
    if (items->size() > kMostStudies)
      return list->Expected(fmt::format("at most {} studies", kMostStudies));
    if (const std::size_t values = ValuesIn(*items); values > kMostLayeredNodes) {
      return list->Report(
          fmt::format("expected at most {} values, defaults and policies counted for every study, "
                      "found {}; make the file shorter",
                      kMostLayeredNodes, values));
    }
    std::vector<std::string> names;
    for (const ConfigNode& item : *items) {
      const std::string default_name = fmt::format("study{}", names.size() + 1);
      auto study = ReadScenarioStudy(item, {default_name, {}, defaults_}, scenario_);
      if (!study) continue;
      if (std::ranges::find(names, study->spec.name) != names.end()) {
        item.Report(fmt::format("expected studies with names of their own, found a second '{}'",
                                study->spec.name));
      }
      names.push_back(study->spec.name);
      if (Place(item, *std::move(study))) ReadUnderPolicies(item, default_name, names.back());
    }
    if (!scenario_.studies.empty()) return CheckUnderPolicies(names);
    for (const auto& [item, why] : nowhere_) item.Report(why);
  }

  std::size_t ValuesIn(const std::vector<ConfigNode>& studies) const {
    std::size_t values = 0;
    for (const ConfigNode& study : studies)
      values += (study.size() + defaults_size_) * (1 + entries_.size());
    for (const PolicyEntry& entry : entries_) values += entry.node().size() * studies.size();
    return values;
  }

  // Reads a study as it is under each policy of the file that does not leave it out.
  void ReadUnderPolicies(const ConfigNode& item, const std::string& default_name,
                         const std::string& name) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const PolicyEntry& entry = entries_[i];
      if (entry.LeavesOut(name)) continue;
      ScenarioStudy study =
          *ReadScenarioStudy(item, {default_name, entry.LayersOf(name), defaults_}, scenario_);
      if (const std::string why = nodes_good_ ? WhyNowhere(scenario_.nodes, study) : "";
          !why.empty()) {
        entry.NodeOf(name).Report(fmt::format("study '{}' fits nowhere: {}", name, why));
      }
      // If the entry has a key `policy`, the study's reader has checked it.
      if (const Status status = CheckPolicy(entry.policy(), study.spec);
          !status && !entry.names_policy()) {
        entry.NodeOf(name).Report(fmt::format("study '{}': {}", name, status.error().message));
      }
      scenario_.policies[i].studies.push_back(std::move(study));
    }
  }

  // Checks that each entry has a study to run, and leaves no study out that another transfers from.
  void CheckUnderPolicies(const std::vector<std::string>& names) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const PolicyEntry& entry = entries_[i];
      entry.CheckNames(names);
      const std::vector<ScenarioStudy>& studies = scenario_.policies[i].studies;
      if (studies.empty())
        entry.node().Report("expected an entry that leaves at least one study to run");
      for (const ScenarioStudy& study : studies) {
        if (!entry.LeavesOut(study.spec.transfer)) continue;
        entry.node().Report(fmt::format(
            "study '{}': transfer: expected the study '{}', whose best trial this study "
            "takes; the entry leaves it out. Leave out both or neither",
            study.spec.name, study.spec.transfer));
      }
    }
  }

  // Adds the study if it fits on a node, and returns whether it does.
  bool Place(const ConfigNode& item, ScenarioStudy study) {
    const std::string why = nodes_good_ ? WhyNowhere(scenario_.nodes, study) : "";
    if (why.empty()) {
      scenario_.studies.push_back(std::move(study));
      return true;
    }
    const std::string text = fmt::format("study '{}' fits nowhere: {}", study.spec.name, why);
    nowhere_.emplace_back(item, text);
    scenario_.left_out.push_back(
        fmt::format("{}:{}: {}; it is left out", file_, item.line(), text));
    return false;
  }

  // A study that transfers takes the best point of another study, its leader. The leader must have
  // the same parameters, and must not transfer itself.
  void CheckTransfers() {
    for (const ScenarioStudy& study : scenario_.studies) {
      if (study.spec.transfer.empty()) continue;
      const auto leader = std::ranges::find_if(scenario_.studies, [&](const ScenarioStudy& other) {
        return other.spec.name == study.spec.transfer;
      });
      std::string why;
      if (leader == scenario_.studies.end()) {
        why = fmt::format("expected the study '{}', whose best trial this study takes, found none",
                          study.spec.transfer);
      } else if (!leader->spec.transfer.empty()) {
        why = fmt::format("expected a study that searches, found that '{}' transfers too",
                          study.spec.transfer);
      } else if (const std::string other = WhyOtherPoints(study.spec.space, leader->spec.space);
                 !other.empty()) {
        why = fmt::format("expected the parameters of '{}', found others: {}", study.spec.transfer,
                          other);
      }
      if (!why.empty())
        map_.Find("studies")->Report(fmt::format("study '{}': transfer: {}", study.spec.name, why));
    }
  }

  void ReadCompare() {
    const ConfigNode* node = map_.Find("compare");
    const auto items = node != nullptr ? node->List() : std::nullopt;
    if (!items) return;
    const std::vector<std::string> labels = LabelsOf(scenario_);
    if (items->empty()) return node->Expected("at least one policy");
    if (items->size() > labels.size()) return node->Expected("each policy at most once");
    scenario_.compare.clear();
    for (const ConfigNode& item : *items) {
      const auto label = item.OneOf(labels);
      if (!label) continue;
      if (std::ranges::find(scenario_.compare, *label) != scenario_.compare.end())
        item.Expected("each policy once");
      scenario_.compare.push_back(*label);
      if (std::ranges::find(scenario_.policies, *label, &ScenarioPolicy::label) !=
          scenario_.policies.end())
        continue;
      for (const ScenarioStudy& study : scenario_.studies) {
        if (const Status status = CheckPolicy(*label, study.spec); !status)
          item.Report(fmt::format("study '{}': {}", study.spec.name, status.error().message));
      }
    }
  }

  void ReadGoal() {
    const ConfigNode* node = map_.Find("goal");
    const auto name = node != nullptr ? node->OneOf(GoalNames()) : std::nullopt;
    if (!name) return;
    const auto found = std::ranges::find(GoalNames(), *name);
    scenario_.goal = static_cast<Goal>(found - GoalNames().begin());
    const auto any = [&](auto has) { return std::ranges::any_of(scenario_.studies, has); };
    if (scenario_.studies.empty()) return;
    if (scenario_.goal == Goal::kTimeToTarget &&
        !any([](const ScenarioStudy& study) { return !study.spec.stop_at.empty(); })) {
      node->Report(
          "expected a study with a target, found none; add 'stop_at: {accuracy: 0.9}' to one");
    }
    if (scenario_.goal == Goal::kErrorAtDeadline &&
        !any([](const ScenarioStudy& study) { return study.spec.deadline_after.has_value(); })) {
      node->Report("expected a study with a deadline, found none; add 'deadline: 30m' to one");
    }
  }

  const ConfigNode root_;
  const ConfigMap map_;
  const std::string file_;
  const std::string_view cluster_;  // the name of the wanted cluster; empty: the first
  Scenario scenario_;
  std::vector<PolicyEntry> entries_;  // parallel to scenario_.policies
  std::optional<ConfigMap> defaults_;
  std::size_t defaults_size_ = 0;
  std::vector<std::pair<ConfigNode, std::string>> nowhere_;
  bool nodes_good_ = false;
};

// Reads a file by calling one of the reader's methods.
template <typename Way>
Result<Scenario> ReadWith(std::string_view text, std::string_view file, std::string_view cluster,
                          const Way& way) {
  SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
  const ConfigNode root = config.root();
  if (!root.is_map()) {
    root.Expected("a scenario, keys such as nodes and studies");
    return std::unexpected(config.Check().error());
  }
  ScenarioReader reader(root, file, cluster);
  Scenario scenario = way(reader);
  SLUICE_TRY(config.Check());
  if (!cluster.empty() && scenario.cluster != cluster) {
    if (scenario.clusters.empty()) {
      return InvalidArgument(fmt::format(
          "{}: expected 'clusters' to choose '{}' from, found none: it has one list of 'nodes'",
          file, Shown(cluster)));
    }
    return InvalidArgument(fmt::format("{}: expected one of its clusters ({}), found '{}'{}", file,
                                       Join(scenario.clusters), Shown(cluster),
                                       DidYouMean(cluster, scenario.clusters)));
  }
  return scenario;
}

}  // namespace

std::string_view Name(Goal goal) { return GoalNames()[static_cast<std::size_t>(goal)]; }

Result<Scenario> ReadScenario(std::string_view text, std::string_view file,
                              std::string_view default_name, std::string_view cluster) {
  SLUICE_ASSIGN(Scenario scenario, ReadWith(text, file, cluster, [&](ScenarioReader& reader) {
                  return reader.Read(default_name);
                }));
  SLUICE_CHECK(!scenario.studies.empty(), "the reader refuses a scenario without studies");
  return scenario;
}

Result<Scenario> ReadScenarioNodes(std::string_view text, std::string_view file,
                                   std::string_view cluster) {
  return ReadWith(text, file, cluster,
                  [](ScenarioReader& reader) { return reader.ReadNodesAlone(); });
}

}  // namespace sluice
