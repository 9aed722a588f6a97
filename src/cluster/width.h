#pragma once

#include <string_view>

#include "cluster/cluster.h"

namespace sluice {

// How wide a trial runs: how many GPUs it holds, or cores where it needs no GPU. Below one GPU a width
// is a share, above it a whole number.

// Of a trial that is not elastic, or is not asked to be.
Milli UsualWidth(const Demand& demand);
Milli LeastWidth(const Demand& demand);
Milli MostWidth(const Demand& demand);
Milli WidthOf(const Grant& grant);

// One device, or the nearest to it that the trial can have.
Milli OneDevice(const Demand& demand);

// What a trial needs at another width: cores go along with GPUs in proportion.
Demand AtWidth(const Demand& demand, Milli width);

// The widest that one node which is up could hold, if nothing else ran there; at least the least.
Milli WidestFit(const Cluster& cluster, const Demand& demand);

// How many devices of a node nobody lends.
Milli OwnDevices(const Node& node);
// The kind of the first device there is that nobody lends; empty if there is none.
std::string_view FirstKind(const Cluster& cluster);

// All there is of what a trial is wide in, on nodes that are up.
Milli TotalWidth(const Cluster& cluster, const Demand& demand);

}  // namespace sluice
