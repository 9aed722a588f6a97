#pragma once

#include "policy/policy.h"

namespace sluice {

// Where devices are of several kinds: moves a running trial to a faster device that is idle, and
// stays idle by this plan. The time saved must be worth the price of saving the trial and starting
// it again. A trial on several devices keeps its width.
void MoveToFasterDevices(const Cluster& cluster, const WorkView& work, Time now, Plan& plan);

}  // namespace sluice
