#include "policy/placer.h"

#include <algorithm>

#include "cluster/width.h"

namespace sluice {

namespace {

// Who is let in where all nodes are one.
std::vector<Wanted> LetIn(const Cluster& cluster, const std::vector<Wanted>& wanted) {
  Milli cpus = TotalWidth(cluster, {.gpus = 0});
  Milli gpus = TotalWidth(cluster, {.gpus = kWhole});
  std::vector<Wanted> in;
  for (const bool fixed : {true, false}) {
    for (const Wanted& each : wanted) {
      if (IsFixed(*each.item) != fixed) continue;
      const Milli width = fixed ? WidthOf(*each.item->grant)
                                : std::min(each.width, WidestFit(cluster, each.item->demand));
      const Demand demand = AtWidth(each.item->demand, width);
      if (!fixed && (demand.cpus > cpus || demand.gpus > gpus)) continue;
      cpus -= demand.cpus;
      gpus -= demand.gpus;
      in.push_back({each.item, width});
    }
  }
  return in;
}

}  // namespace

std::vector<Placement> Place(const Cluster& cluster, const std::vector<Wanted>& wanted) {
  Cluster free;
  free.SetNodes(cluster.nodes());
  const auto stays = [](const Wanted& each) {
    return each.item->running && !each.item->leaving && WidthOf(*each.item->grant) == each.width;
  };
  const std::vector<Wanted> in = LetIn(cluster, wanted);
  std::vector<Placement> placements;
  std::vector<const Wanted*> others;
  for (const Wanted& each : in) {
    if (stays(each) && free.Fits(*each.item->grant)) {
      free.Take(*each.item->grant);
      placements.push_back({each.item->trial, *each.item->grant});
    } else {
      others.push_back(&each);
    }
  }
  for (const Wanted* each : others) {
    Grant grant = FirstFit(free, AtWidth(each->item->demand, each->width));
    if (!IsSet(grant.node)) continue;
    free.Take(grant);
    placements.push_back({each->item->trial, std::move(grant)});
  }
  return placements;
}

}  // namespace sluice
