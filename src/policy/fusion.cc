#include "policy/fusion.h"

#include <algorithm>
#include <set>
#include <string>

namespace sluice {
namespace {

// The number of trials in a program is doubled if that multiplies its throughput by at least this.
// With a value near 1, bundles grow until memory is full: their members end late, and throughput
// gains little. With a value near 2, nothing is fused. A guess: not measured.
constexpr double kFusionPays = 1.1;
// The part of a device's memory that is left free, because the memory of programs grows, and a
// profile sees only their beginning. With a larger part, fewer trials fit in a bundle. A guess: not
// measured.
constexpr double kFusionMargin = 0.05;
// The kind of device on which throughputs are compared before anything was measured. A throughput
// is relative to that of one trial alone, so every kind gives the same.
constexpr const char* kAnyKind = "A100";

}  // namespace

int MostFused(const Demand& demand, int capacity) {
  const int most = std::max(1, demand.fused_most);
  return capacity > 0 ? std::min(most, capacity) : most;
}

int MostFused(const StudyView& study) { return MostFused(study.demand, study.capacity); }

Fusion::Fusion(const SpeedModel& speeds, const StudyView& study) : speeds_(speeds), study_(study) {
  const std::string_view measured = speeds.MostMeasuredKind(study.shape);
  kind_ = measured.empty() ? kAnyKind : measured;
  alone_ = SpeedOfEach(1);
  const int most = MostFused(study);
  while (knee_ < most) {
    const int twice = std::min(2 * knee_, most);
    const double needed = 1 + (kFusionPays - 1) * (twice - knee_) / knee_;
    if (Throughput(twice) < needed * Throughput(knee_)) break;
    knee_ = twice;
  }
}

double Fusion::SpeedOfEach(int trials) const {
  SpeedSituation at{.shape = std::string(study_.shape), .kind = "", .fused = trials};
  if (study_.demand.gpus > 0) {
    at.kind = kind_;
  } else {
    at.width = study_.demand.cpus;
  }
  const SpeedEstimate estimate = speeds_.Ask(at);
  return estimate.measured > 0 ? estimate.work_per_second : speeds_.Prior(at);
}

double Fusion::Throughput(int trials) const {
  return trials == 0 ? 0 : trials * SpeedOfEach(trials) / alone_;
}

double Fusion::Quickness(const Device& device, int trials) const {
  if (device.IsOwn() || trials == 0) return 1;
  SpeedSituation own{.shape = std::string(study_.shape), .kind = device.kind, .fused = trials};
  const SpeedEstimate there = speeds_.Ask(own);
  own.lent = true;
  const SpeedEstimate here = speeds_.Ask(own);
  if (there.of_kind > 0 && here.of_kind > 0) return here.work_per_second / there.work_per_second;
  return static_cast<double>(device.open) / static_cast<double>(kWhole);
}

int Fusion::MostOn(const Device& device) const {
  const Demand& demand = study_.demand;
  if (demand.memory_bytes == 0) return knee_;
  const auto total =
      static_cast<std::int64_t>(static_cast<double>(device.memory_bytes) * (1 - kFusionMargin));
  if (device.memory_bytes < demand.memory_bytes) return 0;
  if (total < demand.memory_bytes) return 1;
  const std::int64_t more =
      (total - demand.memory_bytes) / std::max<std::int64_t>(demand.fused_bytes, 1);
  return static_cast<int>(std::min<std::int64_t>(1 + more, knee_));
}

std::vector<const Device*> Fusion::Home(const Cluster& cluster, const WorkView& work) const {
  std::set<const Device*> held;
  for (const WorkItem& item : work.items) {
    if (!item.running || item.trial.study == study_.study) continue;
    const std::vector<Device>& there = cluster.node(item.grant->node).devices;
    for (const DeviceId device : item.grant->devices)
      if (Number(device) < there.size()) held.insert(&there[Number(device)]);
  }
  std::vector<const Device*> home;
  for (const Node& node : cluster.nodes()) {
    for (const Device& device : node.devices) {
      if (node.up && device.IsOwn() && MostOn(device) > 0 && !held.contains(&device))
        home.push_back(&device);
    }
  }
  return home;
}

Grant Fusion::GrantOn(NodeId node, DeviceId device, BundleId bundle) const {
  const Demand& demand = study_.demand;
  return {.node = node,
          .cpus = demand.cpus,
          .gpu_share = kWhole,
          .memory_bytes = demand.fused_bytes,
          .devices = {device},
          .bundle = bundle,
          .program_bytes = demand.memory_bytes - demand.fused_bytes};
}

Grant Fusion::GrantOnCores(NodeId node, BundleId bundle) const {
  return {.node = node, .cpus = study_.demand.cpus, .devices = {}, .bundle = bundle};
}

}  // namespace sluice
