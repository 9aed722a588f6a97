#pragma once

#include <vector>

#include "cluster/cluster.h"
#include "engine/study.h"
#include "sim/true_speed.h"

namespace sluice {

// Gives the study the profile that a short run of one trial, alone on a device of each kind there
// is, would have measured, as HyperSack's sampler does: how long a unit of work takes, and which
// part of the device the trial needs. Also sets the trial's memory, unless the study says it.
void AddProfile(const WorkloadSpec& workload, const std::vector<Node>& nodes, StudySpec& study);

}  // namespace sluice
