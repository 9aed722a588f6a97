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

// Nodes by the speed of their devices for trials of this shape, fastest first. Empty if all nodes
// have devices of one kind.
std::vector<NodeId> QuickestFirst(const Cluster& cluster, const SpeedModel& speeds,
                                  std::string_view shape);

// Finds places for items as if nothing ran. A running trial that gets another place leaves its
// present place first.
//
// 1. Items that cannot be moved stay where they are, whatever width is wanted for them.
// 2. The other items are admitted in their order. An item is admitted if the cluster as a whole has
//    room for it beside all items admitted before; otherwise it is passed over. No item is wider
//    than one node can hold.
// 3. An admitted item that already runs at its width stays where it is. Each other admitted item
//    takes the first node where its width is free, or else the next narrower width. A share of a
//    device goes to the fullest device with room for it. An item that does not run yet takes
//    devices that are free now before devices that a trial has still to leave.
// 4. The items that were not admitted get what is left. Items that can stay where they are come
//    first.
//
// With speeds, nodes are tried from the fastest to the slowest; without, in the cluster's order.
std::vector<Placement> Place(const Cluster& cluster, const std::vector<Wanted>& wanted,
                             const SpeedModel* speeds = nullptr);

// The same, in the part of a cluster that other trials leave free. On entry `free` has the grants
// of all other trials and of none of these items. On return it also has the grants found for these
// items.
std::vector<Placement> PlaceIn(Cluster& free, const Cluster& cluster,
                               const std::vector<Wanted>& wanted,
                               const SpeedModel* speeds = nullptr);

}  // namespace sluice
