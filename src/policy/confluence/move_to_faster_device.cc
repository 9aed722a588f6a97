#include "policy/confluence/move_to_faster_device.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/width.h"
#include "policy/placer.h"

namespace sluice {
namespace {

// A move must save this many times its price, since speeds are estimates. With a lower value,
// trials make moves that do not pay. With a higher value, trials stay on slow devices while fast
// devices are idle. A guess: not measured.
constexpr double kMovePays = 2;
// The same where a stopper may end the trial before the move has paid. Chosen on the scenario
// two-studies: with 2, that scenario ended 3.6 % later than under the best published policy; with
// 8, it ended about as soon (docs/evidence.md).
constexpr double kMovePaysIfJudged = 8;

std::string_view KindOf(const Cluster& cluster, const Grant& grant) {
  const std::vector<Device>& devices = cluster.node(grant.node).devices;
  if (grant.devices.empty() || Number(grant.devices.front()) >= devices.size()) return {};
  const Device& first = devices[Number(grant.devices.front())];
  return first.IsLent() ? std::string_view() : first.kind;
}

}  // namespace

void MoveToFasterDevices(const Cluster& cluster, const WorkView& work, Time now, Plan& plan) {
  const auto is_growing = [](const StudyView& study) { return study.coming > 0; };
  if (!plan.wanted_room.empty() || std::ranges::any_of(work.studies, is_growing)) return;
  std::map<StudyId, std::vector<NodeId>> orders;
  for (const StudyView& study : work.studies)
    orders[study.study] = QuickestFirst(cluster, *work.speeds, study.shape);
  if (std::ranges::all_of(orders, [](const auto& each) { return each.second.empty(); })) return;

  std::map<TrialKey, Placement*> placed;
  for (Placement& placement : plan.placements) placed[placement.trial] = &placement;
  std::vector<const WorkItem*> staying;   // running trials that would go on where they are
  std::vector<const WorkItem*> unlisted;  // the staying trials that the plan does not list
  for (const WorkItem& item : work.items) {
    if (!item.running || item.leaving) continue;
    const auto found = placed.find(item.trial);
    const bool stays =
        found == placed.end() ? plan.keeps_running : found->second->grant == *item.grant;
    if (!stays) continue;
    staying.push_back(&item);
    if (placed.erase(item.trial) == 0) unlisted.push_back(&item);
  }
  Cluster books = cluster;  // `cluster` with the trials that are to start
  for (const auto& [trial, placement] : placed)
    if (books.Fits(placement->grant)) books.Take(placement->grant);

  std::map<TrialKey, Grant> moved;
  for (const WorkItem* item : staying) {
    const auto study = std::ranges::find(work.studies, item->trial.study, &StudyView::study);
    const std::string_view here = KindOf(cluster, *item->grant);
    if (!item->movable || item->target == kNoLimit || !study->start_up_known || here.empty() ||
        IsSet(item->grant->bundle))
      continue;
    const Milli width = WidthOf(*item->grant);
    Grant grant = FirstFit(books, AtWidth(item->demand, width), orders[study->study]);
    if (!IsSet(grant.node)) continue;
    const auto seconds = [&](std::string_view kind) {
      const SpeedSituation at{
          .shape = std::string(study->shape), .kind = std::string(kind), .width = width};
      return static_cast<double>(item->target - item->done) /
             (work.speeds->Ask(at).work_per_second * item->pace);
    };
    const double price_s = Seconds(study->start_up + study->leaving + (now - item->heard));
    const double saved_s = seconds(here) - seconds(KindOf(cluster, grant));
    if (saved_s <= (study->judged ? kMovePaysIfJudged : kMovePays) * price_s) continue;
    books.Take(grant);
    moved.emplace(item->trial, std::move(grant));
  }
  if (moved.empty()) return;
  if (plan.keeps_running) {
    for (const WorkItem* item : unlisted) plan.placements.push_back({item->trial, *item->grant});
    plan.keeps_running = false;
  }
  for (Placement& placement : plan.placements) {
    const auto found = moved.find(placement.trial);
    if (found != moved.end()) placement.grant = std::move(found->second);
  }
}

}  // namespace sluice
