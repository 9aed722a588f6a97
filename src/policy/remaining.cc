#include "policy/remaining.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

// What a target beyond all bounds is: a search without a budget says so.
constexpr Work kUnbounded = std::numeric_limits<Work>::max();

}  // namespace

RemainingTimes::RemainingTimes(const SpeedModel& speeds, const Cluster& cluster) : speeds_(speeds) {
  for (const Node& node : cluster.nodes()) {
    if (!node.up || node.devices.empty()) continue;
    kind_ = node.devices.front().kind;
    return;
  }
}

double RemainingTimes::Alone(const WorkItem& item) const {
  if (item.target == kUnbounded) return std::numeric_limits<double>::infinity();
  const auto [known, is_new] = seconds_per_unit_.try_emplace(item.shape, 1.0);
  if (is_new) {
    SpeedSituation alone{.shape = std::string(item.shape), .kind = {}};
    if (item.demand.gpus > 0) alone.kind = kind_;
    const SpeedEstimate speed = speeds_.Ask(alone);
    if (speed.measured > 0) known->second = 1 / speed.work_per_second;
  }
  return known->second * static_cast<double>(std::max<Work>(item.target - item.done, 0));
}

}  // namespace sluice
