#pragma once

#include <vector>

#include "cluster/cluster.h"
#include "engine/study.h"
#include "sim/true_speed.h"

namespace sluice {

// Gives the study a profile: for each kind of device among the nodes, how long a unit of work takes
// and which part of the device a trial needs. It is the profile that a short run of one trial,
// alone on each kind, would have measured (HyperSack's sampler does that). Also sets the trial's
// memory, unless the study specifies it.
void AddProfile(const WorkloadSpec& workload, const std::vector<Node>& nodes, StudySpec& study);

}  // namespace sluice
