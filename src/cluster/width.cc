#include "cluster/width.h"

#include <algorithm>

namespace sluice {

Milli OwnDevices(const Node& node) {
  return static_cast<Milli>(
      std::ranges::count_if(node.devices, [](const Device& device) { return device.IsOwn(); }));
}

std::string_view FirstKind(const Cluster& cluster) {
  for (const Node& node : cluster.nodes()) {
    for (const Device& device : node.devices)
      if (node.up && device.IsOwn()) return device.kind;
  }
  return {};
}

Milli UsualWidth(const Demand& demand) { return demand.gpus > 0 ? demand.gpus : demand.cpus; }

Milli LeastWidth(const Demand& demand) {
  return demand.least > 0 ? demand.least : UsualWidth(demand);
}

Milli MostWidth(const Demand& demand) { return demand.most > 0 ? demand.most : UsualWidth(demand); }

bool IsElastic(const Demand& demand) { return MostWidth(demand) > LeastWidth(demand); }

Milli OneDevice(const Demand& demand) {
  return std::clamp(kWhole, LeastWidth(demand), MostWidth(demand));
}

Milli WidthOf(const Grant& grant) {
  if (grant.devices.empty()) return grant.cpus;
  return grant.gpu_share * static_cast<Milli>(grant.devices.size());
}

Demand AtWidth(const Demand& demand, Milli width) {
  Demand wanted = demand;
  if (demand.gpus == 0) {
    wanted.cpus = width;
  } else if (width != demand.gpus) {
    wanted.gpus = width;
    wanted.kinds = nullptr;  // they were measured at the usual width
    wanted.cpus = (demand.cpus * width + demand.gpus - 1) / demand.gpus;
  }
  return wanted;
}

Milli WidestFit(const Cluster& cluster, const Demand& demand) {
  Milli widest = LeastWidth(demand);
  for (const Node& node : cluster.nodes()) {
    if (!node.up) continue;
    const Milli gpus = OwnDevices(node) * kWhole;
    Milli width = std::min(MostWidth(demand), demand.gpus > 0 ? gpus : node.cpus);
    // A wider trial needs more cores too, and the node may run out of those first.
    while (width > kWhole && AtWidth(demand, width).cpus > node.cpus) width -= kWhole;
    widest = std::max(widest, width);
  }
  return widest;
}

Milli TotalWidth(const Cluster& cluster, const Demand& demand) {
  Milli total = 0;
  for (const Node& node : cluster.nodes()) {
    if (!node.up) continue;
    total += demand.gpus > 0 ? OwnDevices(node) * kWhole : node.cpus;
  }
  return total;
}

}  // namespace sluice
