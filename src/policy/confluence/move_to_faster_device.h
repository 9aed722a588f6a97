#pragma once

#include "policy/policy.h"

namespace sluice {

// Changes a plan if devices are of several kinds: moves running trials to faster devices that are
// idle and that the plan leaves idle. The time that a move saves must be worth the price of saving
// the trial and starting it again. No trial moves while new trials are on their way or asked for. A
// trial on several devices keeps its width.
void MoveToFasterDevices(const Cluster& cluster, const WorkView& work, Time now, Plan& plan);

}  // namespace sluice
