#include "policy/sharing.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

// What is free of a node for a trial that does not fit there yet, up to what the trial needs. Cores
// are of no use to a trial that needs a device before a device is free.
Grant FreeOf(const Cluster& cluster, NodeId id, const Demand& demand) {
  Grant grant{
      .node = id, .cpus = std::clamp<Milli>(cluster.FreeCpus(id), 0, demand.cpus), .devices = {}};
  if (demand.gpus == 0) return grant;
  const std::size_t wanted =
      demand.gpus < kWhole ? 1 : static_cast<std::size_t>(demand.gpus / kWhole);
  // A trial on several devices takes all of each. A trial on one may take a share of it.
  const std::vector<Device>& all = cluster.node(id).devices;
  const auto free = [&](DeviceId device) { return cluster.FreeShare(id, device); };
  const auto free_bytes = [&](DeviceId device) {
    const std::int64_t used = cluster.Used(id)[Number(device)].memory_bytes;
    return std::max<std::int64_t>(0, all[Number(device)].memory_bytes - used);
  };
  std::vector<DeviceId>& devices = grant.devices;
  for (std::uint32_t d = 0; d < all.size(); ++d) {
    const bool some = free(DeviceId(d)) >= (wanted > 1 ? kWhole : 1);
    const bool could = all[d].memory_bytes >= demand.memory_bytes;
    if (some && could && all[d].IsOwn()) devices.push_back(DeviceId(d));
  }
  if (devices.empty()) return {};
  std::ranges::stable_sort(devices, std::greater{}, [&](DeviceId device) {
    return std::pair(std::min(free(device), demand.gpus), free_bytes(device));
  });
  if (devices.size() > wanted) devices.resize(wanted);
  grant.gpu_share = std::min({demand.gpus, kWhole, free(devices.back())});
  grant.memory_bytes = std::min(demand.memory_bytes, free_bytes(devices.back()));
  return grant;
}

// The most that a node has free of what a trial needs that fits on no node yet; node 0: nothing of
// it is free on a node that could hold the trial.
Grant MostFree(const Cluster& cluster, const ClusterSize& size, const Demand& demand) {
  Grant most;
  double part = 0;
  for (std::uint32_t n = 1; n <= cluster.nodes().size(); ++n) {
    const NodeId id{n};
    if (!FitsEmpty(cluster.node(id), demand)) continue;
    Grant grant = FreeOf(cluster, id, demand);
    const double its = size.PartOf(HeldWith(grant));
    if (its <= part) continue;
    part = its;
    most = std::move(grant);
  }
  return most;
}

}  // namespace

Held HeldWith(const Grant& grant) {
  return {.cpus = grant.cpus, .gpus = static_cast<Milli>(grant.devices.size()) * grant.gpu_share};
}

ClusterSize::ClusterSize(const Cluster& cluster) {
  for (const Node& node : cluster.nodes()) {
    if (!node.up) continue;
    cpus += node.cpus;
    devices += static_cast<std::int64_t>(node.devices.size());
  }
}

double ClusterSize::PartOf(const Held& held) const {
  const auto part = [](std::int64_t some, std::int64_t all) {
    return all > 0 ? std::min(1.0, static_cast<double>(some) / static_cast<double>(all)) : 0;
  };
  return std::max(part(held.cpus, cpus), part(held.gpus, devices * kWhole));
}

bool IsAnythingFree(const Cluster& cluster) {
  for (std::uint32_t n = 1; n <= cluster.nodes().size(); ++n) {
    const NodeId id{n};
    if (!cluster.node(id).up) continue;
    if (cluster.FreeCpus(id) > 0) return true;
    for (const DeviceUse& use : cluster.Used(id))
      if (use.share < kWhole) return true;
  }
  return false;
}

std::vector<Reservation> Divide(Cluster cluster, std::vector<Sharer> sharers) {
  const ClusterSize size(cluster);
  const auto key = [](const Sharer& sharer) {
    return std::tuple(sharer.had / sharer.weight, -sharer.weight, sharer.study);
  };
  const auto later = [&](const Sharer* a, const Sharer* b) { return key(*a) > key(*b); };
  std::priority_queue<Sharer*, std::vector<Sharer*>, decltype(later)> next(later);
  for (Sharer& sharer : sharers) {
    if (sharer.wants > 0 && sharer.weight > 0) next.push(&sharer);
  }
  std::vector<Reservation> reserved;
  while (!next.empty() && IsAnythingFree(cluster)) {
    Sharer& sharer = *next.top();
    next.pop();
    const bool sees_all = sharer.hidden == nullptr || sharer.hidden->empty();
    const Cluster seen = sees_all ? cluster : cluster.Hiding(*sharer.hidden);
    Grant grant = FirstFit(seen, *sharer.demand);
    const bool enough = IsSet(grant.node);
    if (!enough) grant = MostFree(seen, size, *sharer.demand);
    if (!IsSet(grant.node)) continue;
    cluster.TakeAsMeasured(grant);
    sharer.had += sharer.seconds * size.PartOf(HeldWith(grant));
    reserved.push_back({sharer.study, std::move(grant), enough});
    if (enough && --sharer.wants > 0) next.push(&sharer);
  }
  return reserved;
}

}  // namespace sluice
