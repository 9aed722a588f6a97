#pragma once

#include "policy/policy.h"

namespace sluice {

// Where devices are of several kinds: whoever runs on a slow one while a quicker one is idle, and stays idle by this
// plan, moves there, if what that saves is worth saving it and starting it again. Those of several devices keep
// their width.
void MoveToFasterDevices(const Cluster& cluster, const WorkView& work, Time now, Plan& plan);

}  // namespace sluice
