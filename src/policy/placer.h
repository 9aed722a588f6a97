#pragma once

#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace sluice {

// An item, and how wide it is to be.
struct Wanted {
  const WorkItem* item = nullptr;
  Milli width = 0;
};

// Nodes by how quick their devices are for trials of this shape; none where all are of one kind.
std::vector<NodeId> QuickestFirst(const Cluster& cluster, const SpeedModel& speeds,
                                  std::string_view shape);

// Finds places for items, as if nothing ran: whoever is to be elsewhere leaves first. Those that cannot be
// moved stay where they are, whatever their width is to be. In their order the others are let in while
// there is room for all of them together, none wider than one node can hold. Of those that are in, who
// runs at its width already stays where it is, and each of the others takes the first node where its
// width is free, or the next narrower one, a share the fullest device that has room for it; whoever is new what nobody
// holds now before what somebody has still to leave. Whoever is not in gets what is then left, those first that can stay
// where they are. With speeds, nodes are tried in the order of how quick their devices are, else in their own.
std::vector<Placement> Place(const Cluster& cluster, const std::vector<Wanted>& wanted,
                             const SpeedModel* speeds = nullptr);

// The same in what is free of a cluster: `free` has what everybody else holds, and nothing of these items. It then
// has what they are to hold too.
std::vector<Placement> PlaceIn(Cluster& free, const Cluster& cluster,
                               const std::vector<Wanted>& wanted,
                               const SpeedModel* speeds = nullptr);

}  // namespace sluice
