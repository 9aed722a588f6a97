#include "sim/read/pipeline_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/device_kind.h"
#include "engine/study.h"

namespace sluice {
namespace {

constexpr std::size_t kMostJobs = 100;

// Reads one time for all stages, or a list with one for each.
bool ReadTimes(const ConfigMap& map, std::string_view key, const PipelineSpec& spec,
               std::vector<Duration>& into) {
  const ConfigNode* node =
      map.Require(key, "the time of a micro-batch on a stage", fmt::format("add '{}: 10ms'", key));
  if (node == nullptr) return false;
  const auto each = [&](const ConfigNode& one) {
    const auto time = one.Duration();
    if (time && *time <= Duration(0)) one.Expected("a time above 0");
    if (time) into.push_back(*time);
    return time && *time > Duration(0);
  };
  if (!node->is_list()) {
    if (!each(*node)) return false;
    into.assign(static_cast<std::size_t>(std::max(spec.stages, 1)), into.front());
    return true;
  }
  const auto items = node->List();
  if (items->size() != static_cast<std::size_t>(spec.stages)) {
    node->Expected(fmt::format("a time for each of the {} stages, or one for all", spec.stages));
    return false;
  }
  return std::ranges::all_of(*items, each);
}

bool ReadFreeMemory(const ConfigMap& map, PipelineSpec& spec) {
  const ConfigNode* node = map.Find("free_memory");
  if (node == nullptr) return true;
  const std::int64_t most = FindDeviceKind(spec.kind)->memory_bytes;
  const auto each = [&](const ConfigNode& one) {
    const auto bytes = one.SizeBytes();
    if (bytes && *bytes > most)
      one.Expected(fmt::format("at most what the {} has, {}", spec.kind,
                               fmt::format("{:.4g} GB", static_cast<double>(most) / 1e9)));
    if (bytes) spec.free_bytes.push_back(*bytes);
    return bytes && *bytes <= most;
  };
  if (!node->is_list()) return each(*node);
  const auto items = node->List();
  if (items->size() != static_cast<std::size_t>(spec.stages)) {
    node->Expected(fmt::format("a size for each of the {} stages, or one for all", spec.stages));
    return false;
  }
  return std::ranges::all_of(*items, each);
}

// Reads how many devices the job lends, and the cores that come with them. Returns whether there
// were no mistakes.
bool ReadLends(const ConfigMap& map, PipelineSpec& spec) {
  bool good = true;
  if (const ConfigNode* node = map.Find("replicas")) {
    const auto replicas = node->Integer({.min = 1, .max = 10'000});
    good = replicas.has_value();
    if (replicas) spec.replicas = static_cast<int>(*replicas);
  }
  if (const ConfigNode* node = map.Find("cpus")) {
    const auto cpus = node->Number({.min = 0, .max = 1000});
    good = good && cpus;
    if (cpus) spec.cpus_lent = static_cast<Milli>(std::llround(*cpus * kWhole));
  }
  const ConfigNode* node = map.Find("lends");
  if (node == nullptr) return good;
  const auto lends = node->Integer({.min = 0, .max = 10'000});
  if (!lends || !good) return false;
  spec.lends = static_cast<int>(*lends);
  if (spec.lends <= spec.stages * spec.replicas) return true;
  node->Expected(fmt::format("at most its {} devices, a stage each", spec.stages * spec.replicas),
                 "add 'replicas: 8' if it has more");
  return false;
}

// Reads a pipeline job. If the job has mistakes, reports them and returns nullopt.
std::optional<PipelineSchedule> ReadPipelineJob(const ConfigNode& item, std::string default_name) {
  const auto map = item.Map();
  if (!map) return std::nullopt;
  const std::vector<std::string> keys = {
      "name",   "kind",        "stages", "micro_batches", "forward", "backward", "transfer",
      "update", "free_memory", "lends",  "replicas",      "cpus",    "gate"};
  map->AllowOnly(keys);
  PipelineSpec spec;
  spec.name = std::move(default_name);
  bool good = true;
  if (const ConfigNode* node = map->Find("name")) {
    spec.name = node->Text().value_or(spec.name);
    if (const Status status = CheckStudyName(spec.name); !status)
      node->Report(status.error().message);
  }
  const auto count = [&](std::string_view key, std::string_view what, std::int64_t most,
                         int& into) {
    const ConfigNode* node = map->Require(key, what);
    const auto number = node != nullptr ? node->Integer({.min = 1, .max = most}) : std::nullopt;
    good = good && number;
    if (number) into = static_cast<int>(*number);
  };
  spec.kind = "A100";
  if (const ConfigNode* node = map->Find("kind"))
    spec.kind = node->OneOf(DeviceKindNames()).value_or(spec.kind);
  count("stages", "how many stages the job has", 1024, spec.stages);
  count("micro_batches", "how many micro-batches a step has", 4096, spec.micro_batches);
  good = ReadTimes(*map, "forward", spec, spec.forward) && good;
  good = ReadTimes(*map, "backward", spec, spec.backward) && good;
  for (const auto& [key, into] :
       {std::pair("transfer", &spec.transfer), std::pair("update", &spec.update),
        std::pair("gate", &spec.gate)}) {
    const ConfigNode* node = map->Find(key);
    const auto time = node != nullptr ? node->Duration() : std::nullopt;
    good = good && (time || node == nullptr);
    if (time) *into = *time;
  }
  good = ReadFreeMemory(*map, spec) && good;
  good = ReadLends(*map, spec) && good;
  if (!good) return std::nullopt;
  auto schedule = PipelineSchedule::Make(std::move(spec));
  if (schedule) return *std::move(schedule);
  item.Report(schedule.error().message);
  return std::nullopt;
}

// Adds a node with the devices that the job lends.
void AddLent(const ConfigNode& item, std::size_t job, Scenario& scenario) {
  const PipelineSchedule& schedule = scenario.pipeline_jobs[job];
  const PipelineSpec& spec = schedule.spec();
  if (spec.lends == 0) return;
  std::size_t devices = static_cast<std::size_t>(spec.lends);
  for (const Node& node : scenario.nodes) devices += node.devices.size();
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
    scenario.lenders[device.uuid] = {.job = job, .stage = stage};
  }
  scenario.nodes.push_back(std::move(node));
}

}  // namespace

void ReadPipelineJobs(const ConfigNode* list, Scenario& scenario) {
  const auto items = list != nullptr ? list->List() : std::nullopt;
  if (!items) return;
  if (items->size() > kMostJobs) return list->Expected(fmt::format("at most {} jobs", kMostJobs));
  for (const ConfigNode& item : *items) {
    auto job = ReadPipelineJob(item, fmt::format("pipeline{}", scenario.pipeline_jobs.size() + 1));
    if (!job) continue;
    const std::string& name = job->spec().name;
    const auto is_taken = [&](const PipelineSchedule& other) { return other.spec().name == name; };
    if (std::ranges::any_of(scenario.pipeline_jobs, is_taken) ||
        std::ranges::find(scenario.nodes, name, &Node::name) != scenario.nodes.end()) {
      item.Report(fmt::format(
          "expected a name that no other job or node has, found '{}'; choose another", name));
      continue;
    }
    scenario.pipeline_jobs.push_back(*std::move(job));
    AddLent(item, scenario.pipeline_jobs.size() - 1, scenario);
  }
}

}  // namespace sluice
