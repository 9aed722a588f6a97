#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// An item, and how wide it is to be.
struct Wanted {
  const WorkItem* item = nullptr;
  Milli width = 0;
};

// Finds places for items, as if nothing ran: whoever is to be elsewhere leaves first. Those that cannot be
// moved stay where they are, whatever their width is to be. In their order the others are let in while
// there is room for all of them together, none wider than one node can hold; then those that run at their
// width already stay where they are, and each of the others takes the first node where its width is free,
// a share the fullest device that has room for it. Who finds no place is left out, and those behind it are
// tried all the same.
std::vector<Placement> Place(const Cluster& cluster, const std::vector<Wanted>& wanted);

}  // namespace sluice
