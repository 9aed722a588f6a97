#include "sim/read/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "policy/policy.h"
#include "space/feasibility.h"

namespace sluice {
namespace {

std::string Gigabytes(std::int64_t bytes) {
  return fmt::format("{:.4g} GB", static_cast<double>(bytes) / 1e9);
}

std::string Amount(Milli milli) { return fmt::format("{}", static_cast<double>(milli) / kWhole); }

bool IsLent(const Node& node) { return std::ranges::any_of(node.devices, &Device::IsLent); }

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
