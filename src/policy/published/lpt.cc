#include "policy/published/lpt.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/published/list_schedule.h"
#include "policy/remaining.h"

namespace sluice {

Plan Lpt::Propose(const Cluster& cluster, const WorkView& work, Time /*now*/) {
  Cluster free = cluster;
  std::vector<const WorkItem*> waiting;
  TakeWaiting(work, waiting);
  const RemainingTimes left(*work.speeds, cluster);
  std::vector<std::pair<double, const WorkItem*>> longest;
  for (const WorkItem* item : waiting) longest.emplace_back(-left.Alone(*item), item);
  std::ranges::stable_sort(longest, {}, &std::pair<double, const WorkItem*>::first);
  for (std::size_t i = 0; i < longest.size(); ++i) waiting[i] = longest[i].second;
  return ListSchedule(free, work, waiting);
}

}  // namespace sluice
