#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// The items that wait, in the order of the view.
void TakeWaiting(const WorkView& work, std::vector<const WorkItem*>& into);

// Places the waiting items of `order` one by one. Each gets what it demands, on the first devices
// that are free. Then asks for room for trials that studies do not have yet. No trial is moved or
// paused. No item overtakes one that waits for more room than is free; an item that waits because
// its study is at its parallelism does not block the others.
//
// On entry `free` is the cluster with all present grants. On return it also has the grants of this
// plan, and the room that the plan asks for is taken.
Plan ListSchedule(Cluster& free, const WorkView& work, const std::vector<const WorkItem*>& order);

}  // namespace sluice
