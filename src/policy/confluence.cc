#include "policy/confluence.h"

#include <algorithm>

#include "cluster/width.h"
#include "policy/filling.h"
#include "policy/placer.h"
#include "policy/widening.h"

namespace sluice {
namespace {

bool IsElastic(const Demand& demand) { return MostWidth(demand) > LeastWidth(demand); }

}  // namespace

Plan Confluence::Propose(const Cluster& cluster, const WorkView& work, Time now) {
  Plan plan;
  Cluster free;
  free.SetNodes(cluster.nodes());
  std::vector<const StudyView*> fixed;
  for (const StudyView& study : work.studies) {
    if (!IsElastic(study.demand)) {
      fixed.push_back(&study);
      continue;
    }
    const Widening widening(cluster, work, study, TotalWidth(cluster, study.demand), now);
    const int room = widening.MostAlive() - study.running - study.waiting;
    if (study.open && room > study.coming) plan.appetites.push_back({study.study, room});
    if (!plan.appetites.empty() || study.coming > 0) {
      plan.keeps_running = true;
      return plan;
    }
    const std::vector<Placement> placed = PlaceIn(free, widening.Choose());
    plan.placements.insert(plan.placements.end(), placed.begin(), placed.end());
  }
  if (fixed.empty()) return plan;
  for (const WorkItem& item : work.items)
    if (item.running) free.Take(*item.grant);
  std::vector<TrialKey> leaving;
  Filling(free, work, fixed, now).Fill(plan, leaving);
  plan.keeps_running = leaving.empty();
  if (plan.keeps_running) return plan;
  for (const WorkItem& item : work.items) {
    if (item.running && !item.leaving && std::ranges::find(leaving, item.trial) == leaving.end())
      plan.placements.push_back({item.trial, *item.grant});
  }
  return plan;
}

}  // namespace sluice
