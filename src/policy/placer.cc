#include "policy/placer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/width.h"

namespace sluice {
namespace {

bool RunsAt(const WorkItem& item, Milli width) {
  // A trial with needs that were measured by kind of device has only one width.
  return item.running && !item.leaving &&
         (WidthOf(*item.grant) == width || item.demand.kinds != nullptr);
}

// Gives items their places, one by one.
class Places {
 public:
  Places(Cluster& free, const Cluster& cluster, const SpeedModel* speeds)
      : free_(free), held_(cluster), speeds_(speeds) {}

  // Leaves the item where it is, if that place is free.
  bool Keep(const WorkItem& item) {
    if (!item.running || item.leaving || !free_.Fits(*item.grant)) return false;
    Take(item, *item.grant);
    return true;
  }

  // Places the item at this width, or at the next narrower one with room. If it runs at that width,
  // or no width has room, the item stays where it is if it can.
  bool Find(const WorkItem& item, Milli width) {
    const Milli least = LeastWidth(item.demand);
    while (true) {
      if (RunsAt(item, width) && Keep(item)) return true;
      if (Grant grant = FirstPlace(item, AtWidth(item.demand, width)); IsSet(grant.node)) {
        Take(item, std::move(grant));
        return true;
      }
      if (width <= least) return Keep(item);
      width = width > kWhole ? std::max(width - kWhole, least) : least;
    }
  }

  std::vector<Placement> TakeAll() { return std::move(placements_); }

 private:
  Grant FirstPlace(const WorkItem& item, const Demand& demand) {
    const std::vector<NodeId>& order = OrderFor(item);
    if (!item.running) {
      Grant grant = FirstFit(held_, demand, order);
      if (IsSet(grant.node) && free_.Fits(grant)) {
        held_.Take(grant);
        return grant;
      }
    }
    return FirstFit(free_, demand, order);
  }
  const std::vector<NodeId>& OrderFor(const WorkItem& item) {
    const auto [known, is_new] = orders_.try_emplace(item.shape);
    if (is_new && speeds_ != nullptr && item.demand.gpus > 0)
      known->second = QuickestFirst(free_, *speeds_, item.shape);
    return known->second;
  }
  void Take(const WorkItem& item, Grant grant) {
    free_.Take(grant);
    placements_.push_back({item.trial, std::move(grant)});
  }

  Cluster& free_;
  Cluster held_;  // what trials hold now, and what new trials are to hold
  const SpeedModel* speeds_;
  std::map<std::string_view, std::vector<NodeId>> orders_;  // by shape
  std::vector<Placement> placements_;
};

// Admits items one after the other, as if all nodes were one node.
class Pool {
 public:
  explicit Pool(const Cluster& free) {
    for (std::uint32_t n = 0; n < free.nodes().size(); ++n) {
      const Node& node = free.nodes()[n];
      if (!node.up) continue;
      cpus_ += free.FreeCpus(NodeId(n + 1));
      for (std::uint32_t d = 0; d < node.devices.size(); ++d)
        if (node.devices[d].IsOwn()) gpus_ += free.FreeShare(NodeId(n + 1), DeviceId(d));
    }
  }

  bool LetIn(const Demand& demand, bool anyway) {
    if (!anyway && (demand.cpus > cpus_ || demand.gpus > gpus_)) return false;
    cpus_ -= demand.cpus;
    gpus_ -= demand.gpus;
    return true;
  }

 private:
  Milli cpus_ = 0;
  Milli gpus_ = 0;
};

}  // namespace

std::vector<NodeId> QuickestFirst(const Cluster& cluster, const SpeedModel& speeds,
                                  std::string_view shape) {
  std::map<std::string_view, double> quickness;  // by kind
  const auto kind_of = [&](NodeId node) -> std::string_view {
    const std::vector<Device>& devices = cluster.node(node).devices;
    return devices.empty() ? std::string_view() : devices.front().kind;
  };
  std::vector<NodeId> order;
  for (std::uint32_t n = 0; n < cluster.nodes().size(); ++n) {
    order.push_back(NodeId(n + 1));
    quickness.try_emplace(kind_of(order.back()), 0);
  }
  if (quickness.size() < 2) return {};
  for (auto& [kind, speed] : quickness) {
    const SpeedSituation at{.shape = std::string(shape), .kind = std::string(kind)};
    if (!kind.empty()) speed = speeds.Ask(at).work_per_second;
  }
  std::ranges::stable_sort(order, std::greater(),
                           [&](NodeId node) { return quickness.at(kind_of(node)); });
  return order;
}

std::vector<Placement> Place(const Cluster& cluster, const std::vector<Wanted>& wanted,
                             const SpeedModel* speeds) {
  Cluster free = cluster.Emptied();
  return PlaceIn(free, cluster, wanted, speeds);
}

std::vector<Placement> PlaceIn(Cluster& free, const Cluster& cluster,
                               const std::vector<Wanted>& wanted, const SpeedModel* speeds) {
  Places places(free, cluster, speeds);
  Pool pool(free);
  for (const Wanted& each : wanted) {
    if (!IsFixed(*each.item)) continue;
    pool.LetIn(AtWidth(each.item->demand, WidthOf(*each.item->grant)), /*anyway=*/true);
    places.Keep(*each.item);
  }
  std::vector<Wanted> in;
  std::vector<Wanted> out;
  for (Wanted each : wanted) {
    if (IsFixed(*each.item)) continue;
    each.width = std::min(each.width, WidestFit(free, each.item->demand));
    const bool let_in = pool.LetIn(AtWidth(each.item->demand, each.width), /*anyway=*/false);
    (let_in ? in : out).push_back(each);
  }
  std::erase_if(in, [&](const Wanted& each) {
    return RunsAt(*each.item, each.width) && places.Keep(*each.item);
  });
  for (const Wanted& each : in) places.Find(*each.item, each.width);
  // An item that can stay where it is does not leave without need.
  std::erase_if(out, [&](const Wanted& each) { return places.Keep(*each.item); });
  for (const Wanted& each : out) places.Find(*each.item, each.width);
  return places.TakeAll();
}

}  // namespace sluice
