#include "policy/published/list_schedule.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace sluice {

void TakeWaiting(const WorkView& work, std::vector<const WorkItem*>& into) {
  into.clear();
  const auto waiting = std::ranges::partition_point(work.items, &WorkItem::running);
  for (auto item = waiting; item != work.items.end(); ++item) into.push_back(&*item);
}

Plan ListSchedule(Cluster& free, const WorkView& work, const std::vector<const WorkItem*>& order) {
  Plan plan;
  plan.keeps_running = true;
  std::vector<int> started(work.studies.size());  // by this plan
  const auto has_slot = [&](std::size_t study) {
    const StudyView& view = work.studies[study];
    return view.parallelism == 0 || Planted("parallelism") ||
           view.running + started[study] < view.parallelism;
  };

  for (const WorkItem* item : order) {
    const auto owner = std::ranges::find(work.studies, item->trial.study, &StudyView::study);
    const auto study = static_cast<std::size_t>(owner - work.studies.begin());
    if (!has_slot(study)) continue;  // its study is at its parallelism: others may pass
    Grant grant = FirstFit(free, item->demand);
    if (!IsSet(grant.node)) return plan;  // no item overtakes it
    free.Take(grant);
    ++started[study];
    plan.placements.push_back({item->trial, std::move(grant)});
  }

  for (std::size_t i = 0; i < work.studies.size(); ++i) {
    const StudyView& study = work.studies[i];
    WantedRoom wanted{study.study, 0};
    while (study.open && has_slot(i)) {
      const Grant grant = FirstFit(free, study.demand);
      if (!IsSet(grant.node)) break;
      free.Take(grant);
      ++started[i];
      ++wanted.trials;
    }
    if (wanted.trials > 0) plan.wanted_room.push_back(wanted);
  }
  return plan;
}

}  // namespace sluice
