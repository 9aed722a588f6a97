#include "policy/hastening.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/width.h"

namespace sluice {
namespace {

// Times its price: one that is judged may be stopped before that pays.
constexpr double kWorthIt = 2;
constexpr double kWorthItIfJudged = 8;

std::string_view KindOf(const Cluster& cluster, const Grant& grant) {
  const std::vector<Device>& devices = cluster.node(grant.node).devices;
  if (grant.devices.empty() || Number(grant.devices.front()) >= devices.size()) return {};
  const Device& first = devices[Number(grant.devices.front())];
  return first.IsLent() ? std::string_view() : first.kind;
}

bool HasSeveralKinds(const Cluster& cluster) {
  const std::string_view first = FirstKind(cluster);
  return std::ranges::any_of(cluster.nodes(), [&](const Node& node) {
    return node.up && std::ranges::any_of(node.devices, [&](const Device& device) {
             return !device.IsLent() && device.kind != first;
           });
  });
}

// Who runs, and would go on where it is.
std::vector<const WorkItem*> Staying(const WorkView& work, const Plan& plan) {
  std::vector<const WorkItem*> staying;
  for (const WorkItem& item : work.items) {
    if (!item.running || item.leaving) continue;
    const auto placed = std::ranges::find(plan.placements, item.trial, &Placement::trial);
    const bool stays =
        placed == plan.placements.end() ? plan.keeps_running : placed->grant == *item.grant;
    if (stays) staying.push_back(&item);
  }
  return staying;
}

}  // namespace

void Hasten(const Cluster& cluster, const WorkView& work, Time now, Plan& plan) {
  const auto is_growing = [](const StudyView& study) { return study.coming > 0; };
  if (!HasSeveralKinds(cluster) || !plan.appetites.empty() ||
      std::ranges::any_of(work.studies, is_growing))
    return;
  const std::vector<const WorkItem*> staying = Staying(work, plan);
  const auto trial_of = [](const WorkItem* item) { return item->trial; };
  Cluster books = cluster;  // with those that run, and those that are to
  for (const Placement& placement : plan.placements) {
    const bool stays = std::ranges::find(staying, placement.trial, trial_of) != staying.end();
    if (!stays && books.Fits(placement.grant)) books.Take(placement.grant);
  }
  std::vector<Placement> moved;
  for (const WorkItem* item : staying) {
    const auto study = std::ranges::find(work.studies, item->trial.study, &StudyView::study);
    if (!item->movable || item->target == kNoLimit || !study->priced || IsSet(item->grant->bundle))
      continue;
    const std::string_view here = KindOf(cluster, *item->grant);
    if (here.empty()) continue;
    const auto seconds = [&](std::string_view kind) {
      const SpeedSituation at{.shape = std::string(item->shape),
                              .kind = std::string(kind),
                              .width = WidthOf(*item->grant)};
      return static_cast<double>(item->target - item->done) /
             (work.speeds->Ask(at).work_per_second * item->pace);
    };
    const double price = Seconds(study->start_up + study->leaving + (now - item->heard));
    const double to_beat = seconds(here) - (study->judged ? kWorthItIfJudged : kWorthIt) * price;
    Grant best;
    double least = to_beat;
    for (std::uint32_t n = 0; n < cluster.nodes().size(); ++n) {
      const NodeId node{n + 1};
      Grant grant =
          FirstFit(books, AtWidth(item->demand, WidthOf(*item->grant)), std::span(&node, 1));
      if (!IsSet(grant.node)) continue;
      const double there = seconds(KindOf(cluster, grant));
      if (there >= least) continue;
      least = there;
      best = std::move(grant);
    }
    if (!IsSet(best.node)) continue;
    books.Take(best);
    moved.push_back({item->trial, std::move(best)});
  }
  if (moved.empty()) return;
  if (plan.keeps_running) {
    for (const WorkItem* item : staying)
      if (std::ranges::find(plan.placements, item->trial, &Placement::trial) ==
          plan.placements.end())
        plan.placements.push_back({item->trial, *item->grant});
    plan.keeps_running = false;
  }
  for (Placement& placement : moved)
    std::ranges::find(plan.placements, placement.trial, &Placement::trial)->grant =
        std::move(placement.grant);
}

}  // namespace sluice
