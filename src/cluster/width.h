#pragma once

#include <string_view>

#include "cluster/cluster.h"

namespace sluice {

// The width of a trial is the number of GPUs it holds, or of cores if it needs no GPU. A width
// below one GPU is a share of a GPU. A larger width is a whole number of GPUs.

// The width of a trial that is not elastic, or that the policy does not resize: what its study
// demands.
Milli UsualWidth(const Demand& demand);
Milli LeastWidth(const Demand& demand);
Milli MostWidth(const Demand& demand);
Milli WidthOf(const Grant& grant);
// Whether a trial may have different widths.
bool IsElastic(const Demand& demand);

// One device, or the width nearest to it that the trial can have.
Milli OneDevice(const Demand& demand);

// What a trial needs at another width: its cores change in proportion to its GPUs.
Demand AtWidth(const Demand& demand, Milli width);

// The largest width that a single node could hold if nothing else ran there. Counts only nodes that
// are up and devices that are not lent. At least LeastWidth.
Milli WidestFit(const Cluster& cluster, const Demand& demand);

// The number of devices of a node that are not lent.
Milli OwnDevices(const Node& node);
// The kind of the first device that is not lent, on a node that is up; empty if there is none.
std::string_view FirstKind(const Cluster& cluster);

// The capacity of all nodes that are up, in the unit of the trial's width: devices that are not
// lent, or cores if the trial needs no GPU.
Milli TotalWidth(const Cluster& cluster, const Demand& demand);

}  // namespace sluice
