#include "sim/read/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "config/config.h"
#include "engine/read/study_keys.h"
#include "engine/read/study_reader.h"
#include "policy/policy.h"
#include "sim/read/cluster_reader.h"
#include "sim/read/pipeline_reader.h"
#include "sim/read/policy_reader.h"
#include "sim/read/profile.h"
#include "sim/read/workload_reader.h"
#include "space/feasibility.h"

namespace sluice {
namespace {

constexpr int kMostSeeds = 10'000;
constexpr std::size_t kMostJobs = 100;
constexpr std::size_t kMostStudies = 1000;
// The most values that are read, counted as often as they are read: the defaults count for every
// study, and all of that for every entry of `policies`.
constexpr std::size_t kMostLayeredNodes = 10 * kMaxConfigNodes;

// The keys of a study with layers that are merged key by key.
const std::vector<std::string>& Sections() {
  static const auto& sections = *new std::vector<std::string>{"workload", "resources", "budget"};
  return sections;
}

const std::vector<std::string>& GoalNames() {
  static const auto& names =
      *new std::vector<std::string>{"makespan", "time-to-target", "error-at-deadline"};
  return names;
}

std::string Gigabytes(std::int64_t bytes) {
  return fmt::format("{:.4g} GB", static_cast<double>(bytes) / 1e9);
}

std::string Amount(Milli milli) { return fmt::format("{}", static_cast<double>(milli) / kWhole); }

bool IsLent(const Node& node) { return std::ranges::any_of(node.devices, &Device::IsLent); }

// Reads the keys of a scenario one by one. A key with mistakes leaves the default, so that the
// others are read all the same.
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
    ReadPipelineJobs();
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

  void ReadPipelineJobs() {
    const ConfigNode* list = map_.Find("pipeline_jobs");
    const auto items = list != nullptr ? list->List() : std::nullopt;
    if (!items) return;
    if (items->size() > kMostJobs) return list->Expected(fmt::format("at most {} jobs", kMostJobs));
    for (const ConfigNode& item : *items) {
      auto job =
          ReadPipelineJob(item, fmt::format("pipeline{}", scenario_.pipeline_jobs.size() + 1));
      if (!job) continue;
      const std::string& name = job->spec().name;
      const auto is_taken = [&](const PipelineSchedule& other) {
        return other.spec().name == name;
      };
      if (std::ranges::any_of(scenario_.pipeline_jobs, is_taken) ||
          std::ranges::find(scenario_.nodes, name, &Node::name) != scenario_.nodes.end()) {
        item.Report(fmt::format(
            "expected a name that no other job or node has, found '{}'; choose another", name));
        continue;
      }
      scenario_.pipeline_jobs.push_back(*std::move(job));
      AddLent(item, scenario_.pipeline_jobs.size() - 1);
    }
  }

  // Adds a node with the devices that the job lends.
  void AddLent(const ConfigNode& item, std::size_t job) {
    const PipelineSchedule& schedule = scenario_.pipeline_jobs[job];
    const PipelineSpec& spec = schedule.spec();
    if (spec.lends == 0) return;
    std::size_t devices = static_cast<std::size_t>(spec.lends);
    for (const Node& node : scenario_.nodes) devices += node.devices.size();
    if (devices > kMostSimulatedDevices)
      return item.Expected(fmt::format("at most {} devices in all", kMostSimulatedDevices));
    Node node{.name = spec.name, .cpus = spec.cpus_lent * spec.lends, .devices = {}};
    for (int i = 0; i < spec.lends; ++i) {
      const int stage = i % spec.stages;
      Device& device = node.devices.emplace_back();
      device.uuid = fmt::format("{}-stage{}-{}", spec.name, stage, i / spec.stages);
      device.kind = spec.kind;
      device.memory_bytes = spec.free_bytes[static_cast<std::size_t>(stage)];
      device.open = std::clamp<Milli>(
          static_cast<Milli>(schedule.idle_share(stage) * static_cast<double>(kWhole)), 1,
          kWhole - 1);
      scenario_.lenders[device.uuid] = {.job = job, .stage = stage};
    }
    scenario_.nodes.push_back(std::move(node));
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
      auto study = ReadStudyOf(item, default_name, {});
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
      const std::vector<ConfigMap> layers = entry.LayersOf(name);
      ScenarioStudy study = *ReadStudyOf(item, default_name, layers);
      if (const std::string why = nodes_good_ ? WhyNowhere(scenario_.nodes, study) : "";
          !why.empty()) {
        entry.NodeOf(name).Report(fmt::format("study '{}' fits nowhere: {}", name, why));
      }
      // A key `policy` in the entry is the study's too, and was checked by the study's reader.
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
      if (studies.empty()) entry.node().Report("expected a study that it does not leave out");
      for (const ScenarioStudy& study : studies) {
        if (!entry.LeavesOut(study.spec.transfer)) continue;
        entry.node().Report(
            fmt::format("study '{}': transfer: expected a study '{}' to take the best of, found it "
                        "left out; leave both out or none",
                        study.spec.name, study.spec.transfer));
      }
    }
  }

  // The layers `above` are what a policy says instead of the study's own keys.
  std::optional<ScenarioStudy> ReadStudyOf(const ConfigNode& item, std::string default_name,
                                           std::vector<ConfigMap> above) {
    const auto own = item.Map();
    if (!own) return std::nullopt;
    std::vector<ConfigMap> layers = std::move(above);
    layers.push_back(*own);
    if (defaults_) layers.push_back(*defaults_);
    const ConfigMap map = ConfigMap::Layered(item, layers, Sections());
    ScenarioStudy study;
    study.line = item.line();
    study.spec = ReadStudyPart(item, map,
                               {.default_name = std::move(default_name),
                                .needs_program = false,
                                .more_keys = {"workload", "arrives"},
                                .memory_bytes = ProfiledBytes(map)});
    const ConfigNode* workload =
        map.Require("workload", "what the study's trials do", "add 'workload: {unit_time: 20s}'");
    auto [work, curve] = ReadWorkload(workload, study.spec);
    study.workload = std::move(work);
    study.curve = std::move(curve);
    if (study.workload.profiled) AddProfile(study.workload, scenario_.nodes, study.spec);
    if (const ConfigNode* node = map.Find("arrives"))
      study.arrives = node->Duration().value_or(study.arrives);
    CheckSimulated(item, map, study);
    CheckBubbles(item, map, study);
    return study;
  }

  // The GPU memory of a trial as a profile has measured it; 0 where the study is not profiled.
  // Policies that need to know the memory are content with that.
  static std::int64_t ProfiledBytes(const ConfigMap& map) {
    const ConfigNode* node = map.Find("workload");
    const auto work = node != nullptr && node->is_map() ? node->Map() : std::nullopt;
    const ConfigNode* profiled = work ? work->Find("profiled") : nullptr;
    const ConfigNode* memory = work ? work->Find("memory") : nullptr;
    if (profiled == nullptr || memory == nullptr || !profiled->Boolean().value_or(false)) return 0;
    return memory->SizeBytes().value_or(0);
  }

  // Reports what a study may say but a simulation cannot do.
  static void CheckSimulated(const ConfigNode& item, const ConfigMap& map,
                             const ScenarioStudy& study) {
    const StudySpec& spec = study.spec;
    if (spec.deadline_at) {
      map.Find("deadline")
          ->Expected("a duration since the study arrives", "simulated time has no calendar");
    }
    if (const ConfigNode* node = map.Find("warm_start"))
      node->Report("a simulated study has no earlier one to begin from; remove the key");
    for (const StopAt& goal : spec.stop_at) {
      if (goal.metric == spec.objective.metric) continue;
      map.Find("stop_at")->Report(
          fmt::format("expected the objective {}, found {}: simulated trials report nothing else",
                      spec.objective.metric, Shown(goal.metric)));
    }
    const WorkloadSpec& work = study.workload;
    const std::int64_t length = work.ends_after > 0
                                    ? std::min(work.ends_after, spec.stopper.max_budget)
                                    : spec.stopper.max_budget;
    if (length == kNoLimit) {
      item.Report(
          "expected the length of a trial, found neither a budget nor an end; add "
          "'budget: {max: 27}', or 'ends_after: 27' to its workload");
    } else if (length / work.report_every > kMostReportsOfATrial) {
      const ConfigNode* budget = map.Find("budget");
      (budget != nullptr ? *budget : item)
          .Report(fmt::format("expected at most {} reports of a trial, found {}; add "
                              "'report_every: {}' to its workload",
                              kMostReportsOfATrial, length / work.report_every,
                              length / kMostReportsOfATrial + 1));
    }
  }

  // Checks that a trial that may be fused onto a lent device makes progress there.
  void CheckBubbles(const ConfigNode& item, const ConfigMap& map,
                    const ScenarioStudy& study) const {
    const Demand& demand = study.spec.demand;
    if (demand.gpus == 0 || demand.fused_most == 1 || !demand.lent) return;
    const auto is_short = [&](const auto& lender) {
      const auto& [job, stage] = lender.second;
      return scenario_.pipeline_jobs[job].usable_share(stage, study.workload.segment) == 0;
    };
    const auto found = std::ranges::find_if(scenario_.lenders, is_short);
    if (found == scenario_.lenders.end()) return;
    const ConfigNode* workload = map.Find("workload");
    (workload != nullptr ? *workload : item)
        .Report(
            fmt::format("expected segments that end within a bubble of stage {} of '{}', found "
                        "{:.4g} ms each; set a shorter 'segment', or 'resources: {{lent: false}}'",
                        found->second.stage, scenario_.pipeline_jobs[found->second.job].spec().name,
                        Seconds(study.workload.segment) * 1e3));
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

  // A study that transfers needs a leader to take the best of: a study with the same parameters
  // that does not transfer itself.
  void CheckTransfers() {
    for (const ScenarioStudy& study : scenario_.studies) {
      if (study.spec.transfer.empty()) continue;
      const auto leader = std::ranges::find_if(scenario_.studies, [&](const ScenarioStudy& other) {
        return other.spec.name == study.spec.transfer;
      });
      const auto names = [](const ScenarioStudy& of) {
        std::vector<std::string> all;
        for (const Parameter& parameter : of.spec.space.parameters()) all.push_back(parameter.name);
        return all;
      };
      std::string why;
      if (leader == scenario_.studies.end()) {
        why = fmt::format("expected a study '{}' to take the best of, found none",
                          study.spec.transfer);
      } else if (!leader->spec.transfer.empty()) {
        why = fmt::format("expected a study that searches, found that '{}' transfers too",
                          study.spec.transfer);
      } else if (names(*leader) != names(study)) {
        why = fmt::format("expected the parameters of '{}', found others", study.spec.transfer);
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
  const std::string_view cluster_;  // the wanted one; empty: the first
  Scenario scenario_;
  std::vector<PolicyEntry> entries_;  // of `policies`, as in the scenario
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
    return InvalidArgument(fmt::format("{}: expected a cluster of its {}, found '{}'{}", file,
                                       Join(scenario.clusters), Shown(cluster),
                                       DidYouMean(cluster, scenario.clusters)));
  }
  return scenario;
}

}  // namespace

std::string WhyNowhere(const std::vector<Node>& nodes, const ScenarioStudy& study) {
  const Demand& demand = study.spec.demand;
  const std::int64_t memory = std::max(study.workload.memory_bytes, demand.memory_bytes);
  Milli most_cpus = 0;
  std::int64_t most_devices = 0;
  std::int64_t most_memory = 0;
  for (const Node& node : nodes) {
    if (IsLent(node)) continue;
    const auto roomy = std::ranges::count_if(
        node.devices, [&](const Device& device) { return device.memory_bytes >= memory; });
    const Milli needed = (demand.gpus + kWhole - 1) / kWhole;
    if (node.cpus >= demand.cpus && roomy >= needed) return "";
    most_cpus = std::max(most_cpus, node.cpus);
    most_devices = std::max(most_devices, static_cast<std::int64_t>(node.devices.size()));
    for (const Device& device : node.devices)
      most_memory = std::max(most_memory, device.memory_bytes);
  }
  if (demand.cpus > most_cpus) {
    return fmt::format("a trial needs {} cores, and no node has more than {}", Amount(demand.cpus),
                       Amount(most_cpus));
  }
  if (demand.gpus > most_devices * kWhole) {
    return fmt::format("a trial needs {} GPUs, and no node has more than {}", Amount(demand.gpus),
                       most_devices);
  }
  if (memory > most_memory) {
    return fmt::format("a trial needs {} of GPU memory, and no device has more than {}",
                       Gigabytes(memory), Gigabytes(most_memory));
  }
  return fmt::format(
      "no single node has the {} cores and {} GPUs with {} of memory that a trial needs",
      Amount(demand.cpus), Amount(demand.gpus), Gigabytes(memory));
}

std::string_view Name(Goal goal) { return GoalNames()[static_cast<std::size_t>(goal)]; }

Result<Scenario> ReadScenario(std::string_view text, std::string_view file,
                              std::string_view default_name, std::string_view cluster) {
  SLUICE_ASSIGN(Scenario scenario, ReadWith(text, file, cluster, [&](ScenarioReader& reader) {
                  return reader.Read(default_name);
                }));
  SLUICE_CHECK(!scenario.studies.empty(), "what a scenario has to run was checked");
  return scenario;
}

Result<Scenario> ReadScenarioNodes(std::string_view text, std::string_view file,
                                   std::string_view cluster) {
  return ReadWith(text, file, cluster,
                  [](ScenarioReader& reader) { return reader.ReadNodesAlone(); });
}

std::vector<std::string> LabelsOf(const Scenario& scenario) {
  std::vector<std::string> labels;
  for (const ScenarioPolicy& policy : scenario.policies) labels.push_back(policy.label);
  for (const std::string& name : PolicyNames()) {
    if (std::ranges::find(labels, name) == labels.end()) labels.push_back(name);
  }
  return labels;
}

Result<LabelledScenario> ScenarioUnder(const Scenario& scenario, const std::string& label) {
  const std::vector<std::string> labels = LabelsOf(scenario);
  if (std::ranges::find(labels, label) == labels.end()) {
    return InvalidArgument(fmt::format("expected one of {}, found '{}'{}", Join(labels),
                                       Shown(label), DidYouMean(label, labels)));
  }
  LabelledScenario under{.label = label, .policy = label, .differs = "", .scenario = scenario};
  under.scenario.policies.clear();
  const auto entry = std::ranges::find(scenario.policies, label, &ScenarioPolicy::label);
  if (entry != scenario.policies.end()) {
    under.policy = entry->policy;
    under.differs = entry->differs;
    under.scenario.studies = entry->studies;
  }
  return under;
}

Status CheckScenario(const Scenario& scenario, std::string_view file) {
  for (const ScenarioStudy& study : scenario.studies) {
    const Feasibility found = Examine(study.spec.space);
    if (const Status status = CheckFeasible(study.spec.space, found); !status) {
      return InvalidArgument(fmt::format("{}:{}: study '{}': constraints: {}", file, study.line,
                                         study.spec.name, status.error().message));
    }
  }
  return {};
}

}  // namespace sluice
