#include "policy/published/fifo.h"

#include "policy/published/list_schedule.h"

namespace sluice {

Plan Fifo::Propose(const Cluster& cluster, const WorkView& work, Time /*now*/) {
  free_ = cluster;
  TakeWaiting(work, order_);
  return ListSchedule(free_, work, order_);
}

}  // namespace sluice
