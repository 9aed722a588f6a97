#include "sim/read/cluster_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "cluster/device_kind.h"
#include "engine/study.h"

namespace sluice {
namespace {

constexpr std::int64_t kMostNodes = 10'000;
constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 50;
constexpr std::size_t kMostFailures = 10'000;

void ReadDeviceKind(const ConfigNode& item, Node& into) {
  const auto map = item.Map();
  if (!map) return;
  const std::vector<std::string> keys = {"kind", "count", "memory"};
  map->AllowOnly(keys);
  const ConfigNode* kind_node =
      map->Require("kind", fmt::format("one of {}", Join(DeviceKindNames())), "add 'kind: A100'");
  const auto kind = kind_node != nullptr ? kind_node->OneOf(DeviceKindNames()) : std::nullopt;
  std::int64_t count = 1;
  if (const ConfigNode* said = map->Find("count"))
    count = said->Integer({.min = 1, .max = kMostSimulatedDevices}).value_or(0);
  if (!kind) return;
  Device device{.uuid = "", .kind = *kind, .memory_bytes = FindDeviceKind(*kind)->memory_bytes};
  if (const ConfigNode* memory = map->Find("memory")) {
    const auto bytes = memory->SizeBytes();
    if (bytes && (*bytes == 0 || *bytes > kMostMemoryBytes))
      memory->Expected("a device's memory, above 0 and at most 1 PiB");
    device.memory_bytes = bytes.value_or(device.memory_bytes);
  }
  if (into.devices.size() + static_cast<std::size_t>(count) >
      static_cast<std::size_t>(kMostSimulatedDevices))
    return item.Expected(fmt::format("at most {} devices in all", kMostSimulatedDevices));
  into.devices.insert(into.devices.end(), static_cast<std::size_t>(count), device);
}

void ReadDevices(const ConfigNode& from, Node& into) {
  if (!from.is_list()) return ReadDeviceKind(from, into);
  const auto items = from.List();
  if (items->empty()) from.Expected("at least one kind of device", "or leave the key out");
  for (const ConfigNode& item : *items) ReadDeviceKind(item, into);
}

// Reads the nodes of one list.
class NodesReader {
 public:
  std::vector<Node> Read(const ConfigNode& list) {
    const auto items = list.List();
    if (!items) return {};
    if (items->empty()) list.Expected("at least one node");
    for (const ConfigNode& item : *items) ReadNode(item);
    std::set<std::string> names;
    for (const Node& node : nodes_) {
      if (names.insert(node.name).second) continue;
      list.Report(fmt::format("expected names of their own, found two nodes '{}'", node.name));
      break;
    }
    return std::move(nodes_);
  }

 private:
  void ReadNode(const ConfigNode& item) {
    const auto map = item.Map();
    if (!map) return;
    const std::vector<std::string> keys = {"name", "count", "cpus", "devices"};
    map->AllowOnly(keys);
    Node node;
    node.cpus = 8 * kWhole;
    if (const ConfigNode* cpus = map->Find("cpus")) {
      if (const auto amount = cpus->Number({.min = 0, .max = 100'000}))
        node.cpus = static_cast<Milli>(std::llround(*amount * kWhole));
    }
    std::string name = "node";
    if (const ConfigNode* said = map->Find("name")) {
      name = said->Text().value_or(name);
      if (const Status status = CheckStudyName(name); !status) said->Report(status.error().message);
    }
    const ConfigNode* counted = map->Find("count");
    std::int64_t count = 1;
    if (counted != nullptr) count = counted->Integer({.min = 1, .max = kMostNodes}).value_or(0);
    if (const ConfigNode* devices = map->Find("devices")) ReadDevices(*devices, node);
    if (node.cpus == 0 && node.devices.empty())
      return item.Expected("a node with cores or devices", "add 'devices: {kind: A100, count: 8}'");
    devices_ += static_cast<std::int64_t>(node.devices.size()) * count;
    if (devices_ > kMostSimulatedDevices ||
        static_cast<std::int64_t>(nodes_.size()) + count > kMostNodes) {
      return item.Expected(
          fmt::format("at most {} devices and {} nodes in all", kMostSimulatedDevices, kMostNodes));
    }
    const bool alone = counted == nullptr && map->Find("name") != nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      Node& made = nodes_.emplace_back(node);
      made.name = alone ? name : fmt::format("{}{}", name, nodes_.size());
      for (std::size_t d = 0; d < made.devices.size(); ++d)
        made.devices[d].uuid = fmt::format("{}-gpu{}", made.name, d);
    }
  }

  std::vector<Node> nodes_;
  std::int64_t devices_ = 0;
};

struct NamedFailure {
  std::string node;
  Duration at{0};
  Duration lasts{0};
};

std::optional<NamedFailure> ReadFailure(const ConfigNode& item,
                                        const std::vector<std::string>& nodes) {
  const auto map = item.Map();
  if (!map) return std::nullopt;
  const std::vector<std::string> keys = {"node", "at", "for"};
  map->AllowOnly(keys);
  const ConfigNode* node = map->Require("node", "the name of the node that goes down");
  const auto name = node != nullptr ? node->OneOf(nodes) : std::nullopt;
  const auto after_zero = [&](std::string_view key, std::string_view what) {
    const ConfigNode* said = map->Require(key, what, fmt::format("add '{}: 30m'", key));
    auto time = said != nullptr ? said->Duration() : std::nullopt;
    if (!time || *time > Duration(0)) return time;
    said->Expected(what);
    return std::optional<Duration>();
  };
  const auto at = after_zero("at", "a time above 0 at which the node goes down");
  const auto lasts = after_zero("for", "a time above 0 for which the node is down");
  if (!name || !at || !lasts) return std::nullopt;
  return NamedFailure{.node = *name, .at = *at, .lasts = *lasts};
}

}  // namespace

std::vector<NodeFailure> ReadFailures(const ConfigNode* list, const std::vector<Node>& nodes,
                                      const std::vector<std::string>& elsewhere) {
  const auto items = list != nullptr ? list->List() : std::nullopt;
  if (!items || nodes.empty()) return {};
  if (items->size() > kMostFailures) {
    list->Expected(fmt::format("at most {} failures", kMostFailures));
    return {};
  }
  std::map<std::string, NodeId> ids;
  std::vector<std::string> names;
  for (const Node& node : nodes) {
    names.push_back(node.name);
    ids.emplace(node.name, NodeId(static_cast<std::uint32_t>(names.size())));
  }
  names.insert(names.end(), elsewhere.begin(), elsewhere.end());
  std::map<std::string, std::vector<NamedFailure>> earlier;  // of each node
  std::vector<NodeFailure> failures;
  for (const ConfigNode& item : *items) {
    const auto failure = ReadFailure(item, names);
    if (!failure) continue;
    std::vector<NamedFailure>& others = earlier[failure->node];
    if (std::ranges::any_of(others, [&](const NamedFailure& other) {
          return failure->at <= other.at + other.lasts && other.at <= failure->at + failure->lasts;
        })) {
      item.Expected("a node to be up for a while before it goes down again");
    }
    others.push_back(*failure);
    if (const auto found = ids.find(failure->node); found != ids.end())
      failures.push_back({.node = found->second, .at = failure->at, .lasts = failure->lasts});
  }
  return failures;
}

ScenarioCluster ReadCluster(const ConfigMap& scenario, std::string_view wanted) {
  ScenarioCluster cluster;
  const ConfigNode* node = scenario.Find("clusters");
  if (node == nullptr) {
    const ConfigNode* list = scenario.Require(
        "nodes", "a list of nodes", "add 'nodes: [{cpus: 32, devices: {kind: A100, count: 8}}]'");
    if (list != nullptr) cluster.nodes = NodesReader().Read(*list);
    return cluster;
  }
  if (const ConfigNode* nodes = scenario.Find("nodes"))
    nodes->Expected("either 'nodes' or 'clusters'", "remove one of them");
  const auto map = node->Map();
  if (!map) return cluster;
  if (map->entries().empty()) node->Expected("at least one cluster");
  for (const auto& [name, list] : map->entries()) {
    if (const Status status = CheckStudyName(name); !status) list.Report(status.error().message);
    std::vector<Node> nodes = NodesReader().Read(list);
    cluster.names.push_back(name);
    if (!(wanted.empty() ? cluster.names.size() == 1 : name == wanted)) {
      for (Node& other : nodes) cluster.elsewhere.push_back(std::move(other.name));
      continue;
    }
    cluster.chosen = name;
    cluster.nodes = std::move(nodes);
  }
  return cluster;
}

}  // namespace sluice
