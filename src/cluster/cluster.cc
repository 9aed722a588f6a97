#include "cluster/cluster.h"

#include <algorithm>

#include "base/check.h"
#include "base/fields.h"
#include "base/planted.h"

namespace sluice {
namespace {

constexpr const char* kUnreadable = "a snapshot's cluster does not read back";

// The fields that Save and Load share. A field that is missing here is a compile error.
template <typename SomeDevice, typename Visit>
void ForEachDeviceField(SomeDevice& d, Visit&& visit) {
  VisitFields<kFieldsOf<Device>>(visit, d.uuid, d.kind, d.memory_bytes, d.open);
}
template <typename SomeUse, typename Visit>
void ForEachUseField(SomeUse& u, Visit&& visit) {
  VisitFields<kFieldsOf<DeviceUse>>(visit, u.share, u.bandwidth, u.memory_bytes, u.clients);
}
static_assert(kFieldsOf<Node> == 4, "Save and Load list the fields of a node");

std::size_t Index(NodeId id) { return Number(id) - 1; }

Grant WithoutDevices(Grant grant) {
  grant.gpu_share = grant.bandwidth = 0;
  grant.memory_bytes = 0;
  return grant;
}

}  // namespace

bool Node::Lends() const { return std::ranges::any_of(devices, &Device::IsLent); }

NodeId Cluster::Join(Node node) {
  used_.push_back({.cpus = 0, .devices = std::vector<DeviceUse>(node.devices.size())});
  std::vector<Node> nodes = *nodes_;
  nodes.push_back(std::move(node));
  nodes_ = std::make_shared<const std::vector<Node>>(std::move(nodes));
  return NodeId(used_.size());
}

void Cluster::Change(NodeId id, Node node) {
  Usage& used = used_[Index(id)];
  // A device that went away keeps its entry: what was granted on it is still to be released.
  used.devices.resize(std::max(used.devices.size(), node.devices.size()));
  std::vector<Node> nodes = *nodes_;
  nodes[Index(id)] = std::move(node);
  nodes_ = std::make_shared<const std::vector<Node>>(std::move(nodes));
}

void Cluster::SetNodes(const std::vector<Node>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i < used_.size()) {
      Change(NodeId(i + 1), nodes[i]);
    } else {
      Join(nodes[i]);
    }
  }
  for (std::size_t i = nodes.size(); i < used_.size(); ++i) {
    Node down = (*nodes_)[i];
    down.up = false;
    Change(NodeId(i + 1), std::move(down));
  }
}

const Node& Cluster::node(NodeId id) const {
  SLUICE_CHECK(IsSet(id) && Index(id) < nodes_->size(), "a node id is one that Join gave");
  return (*nodes_)[Index(id)];
}

Milli Cluster::FreeCpus(NodeId id) const { return node(id).cpus - used_[Index(id)].cpus; }

Milli Cluster::FreeShare(NodeId id, DeviceId device) const {
  if (Number(device) >= node(id).devices.size()) return 0;
  return kWhole - used_[Index(id)].devices[Number(device)].share;
}

std::span<const DeviceUse> Cluster::Used(NodeId id) const {
  return std::span(used_[Index(id)].devices).first(node(id).devices.size());
}

int Cluster::BundleSize(BundleId bundle) const {
  const auto found = bundles_.find(bundle);
  return found == bundles_.end() ? 0 : found->second;
}

BundleId Cluster::NewBundle() const {
  return BundleId(bundles_.empty() ? 1 : Number(bundles_.rbegin()->first) + 1);
}

bool Cluster::Joins(const Grant& grant) const {
  return IsSet(grant.bundle) && bundles_.contains(grant.bundle);
}

bool Cluster::HasRoom(const Grant& grant, DeviceId device) const {
  const std::vector<Device>& devices = node(grant.node).devices;
  if (Number(device) >= devices.size()) return false;
  const DeviceUse& used = used_[Index(grant.node)].devices[Number(device)];
  const std::int64_t free_bytes = devices[Number(device)].memory_bytes - used.memory_bytes;
  if (Joins(grant)) return grant.memory_bytes == 0 || grant.memory_bytes <= free_bytes;
  const std::int64_t bytes = grant.memory_bytes + grant.program_bytes;
  return grant.gpu_share <= kWhole - used.share && grant.bandwidth <= kWhole - used.bandwidth &&
         used.clients < kMostClients && (bytes == 0 || bytes <= free_bytes);
}

bool Cluster::Fits(const Grant& grant) const {
  return IsSet(grant.node) && (node(grant.node).up || Planted("ghost-node")) &&
         (Joins(grant) || FreeCpus(grant.node) >= grant.cpus) &&
         std::ranges::all_of(grant.devices,
                             [&](DeviceId device) { return HasRoom(grant, device); });
}

void Cluster::Take(const Grant& grant) {
  SLUICE_CHECK(Fits(grant), "a node is never over-committed");
  TakeAsMeasured(grant);
}

void Cluster::TakeAsMeasured(const Grant& grant) {
  const bool joins = Joins(grant);
  if (IsSet(grant.bundle)) ++bundles_[grant.bundle];
  Usage& used = used_[Index(grant.node)];
  if (!joins) used.cpus += grant.cpus;
  if (Planted("free-share")) return;
  for (DeviceId id : grant.devices) {
    // A launch that an earlier controller started may hold a device that is not there any more.
    if (Number(id) >= used.devices.size()) used.devices.resize(Number(id) + 1);
    DeviceUse& device = used.devices[Number(id)];
    device.memory_bytes += grant.memory_bytes;
    if (joins) continue;
    device.share += grant.gpu_share;
    device.bandwidth += grant.bandwidth;
    device.memory_bytes += grant.program_bytes;
    ++device.clients;
  }
}

void Cluster::Release(const Grant& grant) {
  SLUICE_CHECK(TryRelease(grant), "only what was granted is released");
}

bool Cluster::TryRelease(const Grant& grant) {
  if (!IsSet(grant.node) || Index(grant.node) >= nodes_->size() || grant.cpus < 0 ||
      grant.gpu_share < 0 || grant.bandwidth < 0 || grant.memory_bytes < 0 ||
      grant.program_bytes < 0)
    return false;
  bool last = true;  // the last trial of its bundle, or a trial in no bundle
  if (IsSet(grant.bundle)) {
    const auto bundle = bundles_.find(grant.bundle);
    if (bundle == bundles_.end()) return false;
    last = --bundle->second == 0;
    if (last) bundles_.erase(bundle);
  }
  Usage& used = used_[Index(grant.node)];
  if (last && used.cpus < grant.cpus) return false;
  if (last) used.cpus -= grant.cpus;
  for (DeviceId id : grant.devices) {
    if (Planted("free-share")) continue;
    if (Number(id) >= used.devices.size()) return false;
    DeviceUse& device = used.devices[Number(id)];
    if (device.memory_bytes < grant.memory_bytes) return false;
    device.memory_bytes -= grant.memory_bytes;
    if (last) {
      device.share -= grant.gpu_share;
      device.bandwidth -= grant.bandwidth;
      device.memory_bytes -= grant.program_bytes;
      --device.clients;
    }
    if (device.share < 0 || device.bandwidth < 0 || device.memory_bytes < 0 || device.clients < 0)
      return false;
  }
  return true;
}

Cluster Cluster::Without(const Cluster& others) const {
  Cluster part = *this;
  std::vector<Node> nodes = *nodes_;
  part.others_.clear();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Usage& their = others.used_[n];
    nodes[n].cpus -= their.cpus;
    part.used_[n].cpus -= their.cpus;
    for (std::size_t d = 0; d < nodes[n].devices.size(); ++d) {
      Device& device = nodes[n].devices[d];
      if (their.devices[d].share >= kWhole && device.IsOwn()) device.open = 0;
    }
    part.others_.push_back(their.devices);
  }
  part.nodes_ = std::make_shared<const std::vector<Node>>(std::move(nodes));
  return part;
}

Cluster Cluster::Hiding(const std::vector<std::string>& uuids) const {
  Cluster part = *this;
  for (std::size_t n = 0; n < nodes_->size() && !uuids.empty(); ++n) {
    const std::vector<Device>& devices = (*nodes_)[n].devices;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      Milli& share = part.used_[n].devices[d].share;
      if (std::ranges::count(uuids, devices[d].uuid) > 0) share = std::max(share, kWhole);
    }
  }
  return part;
}

Cluster Cluster::Emptied() const {
  Cluster empty;
  empty.SetNodes(*nodes_);
  empty.others_ = others_;
  for (std::size_t n = 0; n < others_.size(); ++n) empty.used_[n].devices = others_[n];
  return empty;
}

bool Cluster::idle() const {
  return bundles_.empty() && std::ranges::all_of(used_, [](const Usage& used) {
           return used.cpus == 0 && std::ranges::all_of(used.devices, [](const DeviceUse& device) {
                    return device == DeviceUse{};
                  });
         });
}

void Cluster::Save(StateWriter& writer) const {
  const auto put = [&writer](const auto& value) { writer.Put(value); };
  const std::vector<Node>& nodes = *nodes_;
  writer.Put(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    writer.Put(nodes[i].name);
    writer.Put(nodes[i].cpus);
    writer.Put(nodes[i].up);
    writer.Put(nodes[i].devices.size());
    for (const Device& device : nodes[i].devices) ForEachDeviceField(device, put);
    writer.Put(used_[i].cpus);
    writer.Put(used_[i].devices.size());
    for (const DeviceUse& use : used_[i].devices) ForEachUseField(use, put);
  }
  writer.Put(bundles_.size());
  for (const auto& [bundle, members] : bundles_) {
    writer.Put(bundle);
    writer.Put(members);
  }
}

Status Cluster::Load(StateReader& reader) {
  const auto get = [&reader](auto& value) { reader.Get(value); };
  std::vector<Node> nodes;
  used_.clear();
  // Nodes are added one by one while there is something to read: a damaged count alone must not
  // allocate memory.
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    Node& node = nodes.emplace_back();
    Usage& used = used_.emplace_back();
    reader.Get(node.name);
    reader.Get(node.cpus);
    reader.Get(node.up);
    for (std::size_t devices = reader.Count(); devices > 0 && reader.ok(); --devices) {
      Device& device = node.devices.emplace_back();
      ForEachDeviceField(device, get);
      if (device.open < 1 || device.open > kWhole) return Corruption(kUnreadable);
    }
    reader.Get(used.cpus);
    used.devices.resize(reader.Count());
    for (DeviceUse& use : used.devices) ForEachUseField(use, get);
    // More may be in use than there is, after a study came with launches that run (Engine::Open).
    const bool in_range = std::ranges::all_of(used.devices, [](const DeviceUse& device) {
      return device.share >= 0 && device.bandwidth >= 0 && device.memory_bytes >= 0 &&
             device.clients >= 0;
    });
    if (!reader.ok() || used.cpus < 0 || !in_range || used.devices.size() < node.devices.size()) {
      return Corruption(kUnreadable);
    }
  }
  nodes_ = std::make_shared<const std::vector<Node>>(std::move(nodes));
  bundles_.clear();
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    BundleId bundle{};
    int members = 0;
    reader.Get(bundle);
    reader.Get(members);
    if (!reader.ok() || !IsSet(bundle) || members < 1 || !bundles_.emplace(bundle, members).second)
      return Corruption(kUnreadable);
  }
  return {};
}

void Cluster::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add(std::string_view(writer.bytes()));
}

namespace {

Grant FitOn(const Cluster& cluster, NodeId node, const Demand& demand) {
  const bool up = cluster.node(node).up || Planted("ghost-node");
  const std::vector<Device>& devices = cluster.node(node).devices;
  if (!up || cluster.FreeCpus(node) < demand.cpus) return {};
  Grant grant{.node = node,
              .cpus = demand.cpus,
              .gpu_share = std::min(demand.gpus, kWhole),
              .bandwidth = demand.bandwidth,
              .memory_bytes = demand.memory_bytes,
              .devices = {}};
  if (demand.gpus == 0) {
    if (cluster.node(node).Lends()) return {};
    return WithoutDevices(grant);
  }
  const bool shared = demand.gpus < kWhole || demand.kinds != nullptr;
  const std::size_t wanted = shared ? 1 : static_cast<std::size_t>(demand.gpus / kWhole);
  const std::span<const DeviceUse> used = cluster.Used(node);
  Milli least = kWhole + 1;
  for (std::uint32_t d = 0; d < used.size(); ++d) {
    const Milli free = kWhole - used[d].share;
    const DeviceNeed need = NeedOn(demand, devices[d].kind);
    const Milli share = std::min(need.gpus, kWhole);
    const bool fits = devices[d].IsOwn() && free >= share &&
                      kWhole - used[d].bandwidth >= need.bandwidth &&
                      used[d].clients < kMostClients &&
                      (demand.memory_bytes == 0 ||
                       devices[d].memory_bytes - used[d].memory_bytes >= demand.memory_bytes);
    if (!fits) continue;
    if (!shared) {
      grant.devices.push_back(DeviceId(d));
      if (grant.devices.size() == wanted) return grant;
    } else if (free < least) {
      least = free;
      grant.devices = {DeviceId(d)};
      grant.gpu_share = share;
      grant.bandwidth = need.bandwidth;
    }
  }
  return grant.devices.size() == wanted ? grant : Grant{};
}

}  // namespace

Grant FirstFit(const Cluster& cluster, const Demand& demand, std::span<const NodeId> order) {
  const std::size_t nodes = order.empty() ? cluster.nodes().size() : order.size();
  for (std::size_t n = 0; n < nodes; ++n) {
    const NodeId node = order.empty() ? NodeId(static_cast<std::uint32_t>(n + 1)) : order[n];
    Grant grant = FitOn(cluster, node, demand);
    if (IsSet(grant.node)) return grant;
  }
  return {};
}

bool FitsEmpty(const Node& node, const Demand& demand) {
  const auto roomy = std::ranges::count_if(node.devices, [&](const Device& device) {
    return device.IsOwn() &&
           (demand.memory_bytes == 0 || device.memory_bytes >= demand.memory_bytes);
  });
  return node.up && node.cpus >= demand.cpus && static_cast<Milli>(roomy) * kWhole >= demand.gpus;
}

bool FitsEmpty(const Cluster& cluster, const Demand& demand) {
  return std::ranges::any_of(cluster.nodes(),
                             [&](const Node& node) { return FitsEmpty(node, demand); });
}

}  // namespace sluice
