#include "sim/world/device_usage.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

Milli SharesOf(const Grant& grant) {
  return grant.gpu_share * static_cast<Milli>(grant.devices.size());
}

double ShareSeconds(Duration took, Milli share) {
  return Seconds(took) * static_cast<double>(share) / kWhole;
}

}  // namespace

void DeviceUsage::Hold(const Grant& grant, Time now) {
  if (IsSet(grant.bundle)) {
    Bundle& bundle = bundles_[grant.bundle];
    if (bundle.members++ > 0) return;
    bundle.since = now;
  }
  shares_ += SharesOf(grant);
  usage_.most_shares = std::max(usage_.most_shares, shares_);
}

void DeviceUsage::LetGo(const Grant& grant, Time now) {
  if (IsSet(grant.bundle)) {
    Bundle& bundle = bundles_[grant.bundle];
    if (--bundle.members > 0) return;
    constexpr auto kRun = static_cast<std::size_t>(Phase::kRun);
    const Duration took = now - bundle.since;
    if (grant.devices.empty()) usage_.core_seconds[kRun] += ShareSeconds(took, grant.cpus);
    usage_.device_seconds[kRun] += ShareSeconds(took, SharesOf(grant));
  }
  shares_ -= SharesOf(grant);
}

void DeviceUsage::EndPhase(SimulatedLaunch& launch, Time now) {
  const Duration took = now - launch.phase_began;
  const Time began = std::exchange(launch.phase_began, now);
  if (took <= Duration(0)) return;
  const Grant& grant = launch.grant;
  const auto phase = static_cast<std::size_t>(launch.phase);
  // The time of a bundle is counted once, when its last member leaves.
  const bool counts = !IsSet(grant.bundle);
  if (grant.devices.empty()) {
    if (counts) usage_.core_seconds[phase] += ShareSeconds(took, grant.cpus);
    Record(launch, devices_.size() + Number(grant.node) - 1, grant.cpus, began, now);
    return;
  }
  if (counts) usage_.device_seconds[phase] += ShareSeconds(took, SharesOf(grant));
  for (const DeviceId id : grant.devices)
    Record(launch, devices_.IndexOf(grant, id), grant.gpu_share, began, now);
}

void DeviceUsage::Record(const SimulatedLaunch& launch, std::size_t row, Milli share, Time began,
                         Time now) {
  if (!record_intervals_) return;
  usage_.intervals.push_back({.row = static_cast<std::uint32_t>(row),
                              .study = launch.trial.study,
                              .trial = launch.trial.trial,
                              .phase = launch.phase,
                              .share = share,
                              .begin = began,
                              .end = now});
}

}  // namespace sluice
