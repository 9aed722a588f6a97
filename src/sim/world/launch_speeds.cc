#include "sim/world/launch_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cluster/width.h"

namespace sluice {
namespace {

// The rate of a launch that almost stands still, in units a second.
constexpr double kSlowest = 1e-6;

}  // namespace

std::string LaunchSpeeds::WhyOutOfMemory(const SimulatedLaunch& launch) const {
  const WorkloadSpec& work = StudyOf(launch).workload();
  // A launch that joins a bundle takes only its own part of the memory.
  const bool joins = IsSet(launch.grant.bundle) && devices_.Has(launch.grant);
  const std::int64_t needed = joins ? work.fused_bytes : work.memory_bytes;
  for (const DeviceId id : launch.grant.devices) {
    const std::int64_t free = devices_.FreeBytes(launch.grant, id);
    if (needed <= free) continue;
    return fmt::format("out of memory on {}: {} MB needed, {} MB free",
                       devices_.at(launch.grant, id).uuid, needed / 1'000'000, free / 1'000'000);
  }
  return "";
}

TrueSpeed::Circumstances LaunchSpeeds::CircumstancesOf(const SimulatedLaunch& launch) const {
  const SimulatedStudy& study = StudyOf(launch);
  TrueSpeed::Circumstances at;
  const Grant& grant = launch.grant;
  const bool elastic = study.study->spec.demand.most > 0;
  if (elastic || !grant.devices.empty()) at.width = static_cast<double>(WidthOf(grant)) / kWhole;
  if (launch.tenant) at.fused = devices_.Fused(grant, *launch.tenant);
  if (grant.devices.empty()) return at;
  at.neighbours = launch.neighbours.busy;
  at.others_move = launch.neighbours.bandwidth;
  double slowest = std::numeric_limits<double>::infinity();
  for (const DeviceId id : grant.devices) {
    const std::string& kind = devices_.at(grant, id).kind;
    const double quick = study.speed.KindSpeed(kind);
    if (quick >= slowest) continue;
    slowest = quick;
    at.kind = kind;
  }
  return at;
}

void LaunchSpeeds::Join(std::uint32_t slot, Time now) {
  SimulatedLaunch& launch = launches_[slot];
  const TrueSpeed& speed = StudyOf(launch).speed;
  const WorkloadSpec& work = speed.workload();
  const auto at = CircumstancesOf(launch);
  const bool on_devices = !launch.grant.devices.empty();
  launch.tenant = {.slot = slot,
                   .busy = on_devices ? speed.Busy(at.kind, std::min(at.width, 1.0)) : 0,
                   .bandwidth = on_devices ? work.bandwidth : 0,
                   .bytes = work.memory_bytes};
  if (IsSet(launch.grant.bundle)) {
    launch.tenant->bundle = launch.grant.bundle;
    launch.tenant->bytes = work.fused_bytes;
    launch.tenant->program_bytes = work.memory_bytes - work.fused_bytes;
  }
  devices_.Join(launch.grant, *launch.tenant);
  SetRate(launch);
  SetRatesOfNeighbours(slot, now);
}

void LaunchSpeeds::Part(std::uint32_t slot, Time now) {
  SimulatedLaunch& launch = launches_[slot];
  if (!launch.tenant) return;
  devices_.Part(launch.grant, *launch.tenant);
  launch.tenant.reset();
  SetRatesOfNeighbours(slot, now);
}

void LaunchSpeeds::SetRatesOfNeighbours(std::uint32_t slot, Time now) {
  devices_.ForOthers(launches_[slot].grant, slot, [&](std::uint32_t other) {
    SimulatedLaunch& launch = launches_[other];
    launch.Advance(now);
    SetRate(launch);
    if (launch.Works() && !launch.leaving)
      launches_.Schedule(launch.ReportDue(), Moment::kReport, other);
  });
}

void LaunchSpeeds::SetRate(SimulatedLaunch& launch) const {
  const SimulatedStudy& study = StudyOf(launch);
  launch.neighbours = devices_.Neighbours(launch.grant, *launch.tenant);
  launch.rate = study.speed.Of(CircumstancesOf(launch)) * launch.spread;
  if (launch.grant.devices.empty()) return;
  const Device& device = devices_.at(launch.grant, launch.grant.devices.front());
  if (!device.IsLent()) return;
  const Lender& lender = scenario_.lenders.at(device.uuid);
  const PipelineSchedule& job = scenario_.pipeline_jobs[lender.job];
  launch.rate *= job.usable_share(lender.stage, study.workload().segment);
  // If no segment fits into a bubble, the launch almost stands still.
  launch.rate = std::max(launch.rate, kSlowest);
}

}  // namespace sluice
