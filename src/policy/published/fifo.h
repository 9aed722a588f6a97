#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// First come, first served. Each trial gets what it demands, on the first devices that are free. No
// trial is ever moved or paused. No trial overtakes one that waits for more room than is free.
class Fifo : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;

 private:
  // Members only to reuse their memory from plan to plan.
  Cluster free_;
  std::vector<const WorkItem*> order_;
};

}  // namespace sluice
