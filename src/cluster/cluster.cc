#include "cluster/cluster.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {
namespace {

std::size_t Index(NodeId id) { return Number(id) - 1; }

}  // namespace

NodeId Cluster::Join(Node node) {
  used_.push_back({.cpus = 0, .devices = std::vector<Milli>(node.devices.size(), 0)});
  nodes_.push_back(std::move(node));
  return NodeId(nodes_.size());
}

void Cluster::Change(NodeId id, Node node) {
  Usage& used = used_[Index(id)];
  // A device that went away keeps its place in the books until what was granted on it is released.
  used.devices.resize(std::max(used.devices.size(), node.devices.size()), 0);
  nodes_[Index(id)] = std::move(node);
}

void Cluster::SetNodes(const std::vector<Node>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i < nodes_.size()) {
      Change(NodeId(i + 1), nodes[i]);
    } else {
      Join(nodes[i]);
    }
  }
  for (std::size_t i = nodes.size(); i < nodes_.size(); ++i) nodes_[i].up = false;
}

const Node& Cluster::node(NodeId id) const {
  SLUICE_CHECK(IsSet(id) && Index(id) < nodes_.size(), "a node id is one that Join gave");
  return nodes_[Index(id)];
}

Milli Cluster::FreeCpus(NodeId id) const { return node(id).cpus - used_[Index(id)].cpus; }

Milli Cluster::FreeShare(NodeId id, DeviceId device) const {
  if (Number(device) >= node(id).devices.size()) return 0;
  return kWhole - used_[Index(id)].devices[Number(device)];
}

bool Cluster::Fits(const Grant& grant) const {
  return IsSet(grant.node) && node(grant.node).up && FreeCpus(grant.node) >= grant.cpus &&
         std::ranges::all_of(grant.devices, [&](DeviceId device) {
           return FreeShare(grant.node, device) >= grant.gpu_share;
         });
}

void Cluster::Take(const Grant& grant) {
  SLUICE_CHECK(Fits(grant), "a node is never over-committed");
  Usage& used = used_[Index(grant.node)];
  used.cpus += grant.cpus;
  for (DeviceId device : grant.devices) used.devices[Number(device)] += grant.gpu_share;
}

void Cluster::Release(const Grant& grant) {
  SLUICE_CHECK(TryRelease(grant), "only what was granted is released");
}

bool Cluster::TryRelease(const Grant& grant) {
  if (!IsSet(grant.node) || Index(grant.node) >= nodes_.size() || grant.cpus < 0 ||
      grant.gpu_share < 0)
    return false;
  Usage& used = used_[Index(grant.node)];
  if (used.cpus < grant.cpus) return false;
  used.cpus -= grant.cpus;
  for (DeviceId device : grant.devices) {
    if (Number(device) >= used.devices.size() || used.devices[Number(device)] < grant.gpu_share)
      return false;
    used.devices[Number(device)] -= grant.gpu_share;
  }
  return true;
}

bool Cluster::idle() const {
  return std::ranges::all_of(used_, [](const Usage& used) {
    return used.cpus == 0 &&
           std::ranges::all_of(used.devices, [](Milli share) { return share == 0; });
  });
}

void Cluster::Save(StateWriter& writer) const {
  writer.Put(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    writer.Put(nodes_[i].name);
    writer.Put(nodes_[i].cpus);
    writer.Put(nodes_[i].up);
    writer.Put(nodes_[i].devices.size());
    for (const Device& device : nodes_[i].devices) {
      writer.Put(device.uuid);
      writer.Put(device.kind);
      writer.Put(device.memory_bytes);
    }
    writer.Put(used_[i].cpus);
    writer.Put(used_[i].devices.size());
    for (Milli used : used_[i].devices) writer.Put(used);
  }
}

Status Cluster::Load(StateReader& reader) {
  nodes_.clear();
  used_.clear();
  // One by one, while there is something to read: a count alone must not take memory.
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    Node& node = nodes_.emplace_back();
    Usage& used = used_.emplace_back();
    reader.Get(node.name);
    reader.Get(node.cpus);
    reader.Get(node.up);
    for (std::size_t devices = reader.Count(); devices > 0 && reader.ok(); --devices) {
      Device& device = node.devices.emplace_back();
      reader.Get(device.uuid);
      reader.Get(device.kind);
      reader.Get(device.memory_bytes);
    }
    reader.Get(used.cpus);
    used.devices.resize(reader.Count());
    for (Milli& share : used.devices) reader.Get(share);
    const bool in_range = std::ranges::all_of(
        used.devices, [](Milli share) { return share >= 0 && share <= kWhole; });
    if (!reader.ok() || used.cpus < 0 || !in_range || used.devices.size() < node.devices.size()) {
      return Corruption("a snapshot's cluster does not read back");
    }
  }
  return {};
}

void Cluster::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add(std::string_view(writer.bytes()));
}

Grant FirstFit(const Cluster& cluster, const Demand& demand) {
  for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
    const NodeId node{static_cast<std::uint32_t>(n + 1)};
    if (!cluster.nodes()[n].up || cluster.FreeCpus(node) < demand.cpus) continue;
    const bool shared = demand.gpus < kWhole;
    Grant grant{.node = node,
                .cpus = demand.cpus,
                .gpu_share = shared ? demand.gpus : kWhole,
                .devices = {}};
    if (demand.gpus == 0) return grant;
    const std::size_t wanted = shared ? 1 : static_cast<std::size_t>(demand.gpus / kWhole);
    const std::size_t count = cluster.nodes()[n].devices.size();
    if (shared) {
      Milli least = kWhole + 1;
      for (std::uint32_t d = 0; d < count; ++d) {
        const Milli free = cluster.FreeShare(node, DeviceId(d));
        if (free >= demand.gpus && free < least) {
          least = free;
          grant.devices = {DeviceId(d)};
        }
      }
    } else {
      for (std::uint32_t d = 0; d < count && grant.devices.size() < wanted; ++d) {
        if (cluster.FreeShare(node, DeviceId(d)) == kWhole) grant.devices.push_back(DeviceId(d));
      }
    }
    if (grant.devices.size() == wanted) return grant;
  }
  return {};
}

bool FitsEmpty(const Cluster& cluster, const Demand& demand) {
  return std::ranges::any_of(cluster.nodes(), [&](const Node& node) {
    const Milli gpus = static_cast<Milli>(node.devices.size()) * kWhole;
    return node.up && node.cpus >= demand.cpus && gpus >= demand.gpus;
  });
}

}  // namespace sluice
