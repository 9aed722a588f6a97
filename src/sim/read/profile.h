#pragma once

#include <vector>

#include "cluster/cluster.h"
#include "engine/study.h"
#include "sim/true_speed.h"

namespace sluice {

// What a short run of one trial, alone on a device of each kind there is, would have shown, as HyperSack's
// sampler measures it: how long a unit of work takes, and what it takes of the device. Memory too,
// where the study says nothing of it.
void AddProfile(const WorkloadSpec& workload, const std::vector<Node>& nodes, StudySpec& study);

}  // namespace sluice
