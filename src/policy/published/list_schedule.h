#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// The items that wait, in the order they came.
void TakeWaiting(const WorkView& work, std::vector<const WorkItem*>& into);

// Each of these waiting items in its turn, on what it demands, on the first devices that are free; then
// room for trials that studies do not have yet. Nobody is moved or paused, and nobody overtakes an item
// that waits for more room than there is. `free` is what the cluster has left; what the plan takes is
// taken from it.
Plan ListSchedule(Cluster& free, const WorkView& work, const std::vector<const WorkItem*>& order);

}  // namespace sluice
