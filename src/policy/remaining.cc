#include "policy/remaining.h"

#include <algorithm>
#include <limits>

#include "cluster/width.h"

namespace sluice {
RemainingTimes::RemainingTimes(const SpeedModel& speeds, const Cluster& cluster) : speeds_(speeds) {
  for (const Node& node : cluster.nodes()) {
    if (!node.up || node.devices.empty()) continue;
    kind_ = node.devices.front().kind;
    return;
  }
}

SpeedEstimate RemainingTimes::Ask(std::string_view shape, const Demand& demand, Milli width) const {
  SpeedSituation alone{.shape = std::string(shape), .kind = {}, .width = width};
  if (demand.gpus > 0) alone.kind = kind_;
  if (demand.kinds != nullptr) alone.width = NeedOn(demand, kind_).gpus;
  return speeds_.Ask(alone);
}

double RemainingTimes::SecondsPerUnit(std::string_view shape, const Demand& demand) const {
  const auto [known, is_new] = seconds_per_unit_.try_emplace(shape, 0.0);
  if (is_new) {
    const SpeedEstimate speed = Ask(shape, demand, OneDevice(demand));
    if (speed.measured > 0) known->second = 1 / speed.work_per_second;
  }
  return known->second;
}

double RemainingTimes::SpeedAt(const WorkItem& item, Milli width) const {
  return Ask(item.shape, item.demand, width).work_per_second;
}

double RemainingTimes::Alone(const WorkItem& item) const {
  if (item.target == kNoLimit) return std::numeric_limits<double>::infinity();
  const double measured_s = SecondsPerUnit(item.shape, item.demand);
  const double unit_s = measured_s > 0 ? measured_s : 1;
  return unit_s * static_cast<double>(std::max<Work>(item.target - item.done, 0));
}

}  // namespace sluice
