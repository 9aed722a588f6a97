#include "sim/read/profile.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace sluice {

void AddProfile(const WorkloadSpec& workload, const std::vector<Node>& nodes, StudySpec& study) {
  std::set<std::string> kinds;
  for (const Node& node : nodes) {
    for (const Device& device : node.devices) kinds.insert(device.kind);
  }
  const TrueSpeed speed(workload);
  const auto share = [](double part) {
    return std::clamp<Milli>(static_cast<Milli>(std::ceil(part * kWhole - 1e-6)), 1, kWhole);
  };
  std::vector<KindNeed> needs;
  study.profile.clear();
  for (const std::string& kind : kinds) {
    study.profile.push_back({.kind = kind, .seconds_per_unit = 1 / speed.Of({.kind = kind})});
    const Milli bandwidth = workload.bandwidth > 0 ? share(workload.bandwidth) : 0;
    needs.push_back({kind, {.gpus = share(speed.Busy(kind, 1)), .bandwidth = bandwidth}});
  }
  study.demand.kinds = std::make_shared<const std::vector<KindNeed>>(std::move(needs));
  if (study.demand.memory_bytes == 0) {
    study.demand.memory_bytes = workload.memory_bytes;
    study.demand.fused_bytes = workload.fused_bytes;
  }
}

}  // namespace sluice
