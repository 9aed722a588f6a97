#include "policy/fifo.h"

#include <algorithm>
#include <map>

#include "base/planted.h"

namespace sluice {

Plan Fifo::Propose(const Cluster& cluster, const WorkView& work, Time /*now*/) {
  Plan plan;
  Cluster free = cluster;
  std::map<StudyId, int> running;
  for (const StudyView& study : work.studies) running[study.study] = study.running;
  const auto has_slot = [&](const StudyView& study) {
    return study.parallelism == 0 || Planted("parallelism") ||
           running[study.study] < study.parallelism;
  };

  bool blocked = false;
  for (const WorkItem& item : work.items) {
    if (item.running) {
      plan.placements.push_back({item.trial, *item.grant});
      continue;
    }
    if (blocked) continue;
    const auto study = std::ranges::find(work.studies, item.trial.study, &StudyView::study);
    if (!has_slot(*study)) continue;  // its own study holds it back: the others may pass
    const Grant grant = FirstFit(free, item.demand);
    if (!IsSet(grant.node)) {
      blocked = true;
      continue;
    }
    free.Take(grant);
    ++running[item.trial.study];
    plan.placements.push_back({item.trial, grant});
  }

  if (blocked) return plan;
  for (const StudyView& study : work.studies) {
    Appetite appetite{study.study, 0};
    while (study.open && has_slot(study)) {
      const Grant grant = FirstFit(free, study.demand);
      if (!IsSet(grant.node)) break;
      free.Take(grant);
      ++running[study.study];
      ++appetite.trials;
    }
    if (appetite.trials > 0) plan.appetites.push_back(appetite);
  }
  return plan;
}

}  // namespace sluice
