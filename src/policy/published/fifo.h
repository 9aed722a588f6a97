#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// First come, first served, each trial on what it demands, on the first devices that are free.
// Nobody is ever moved or paused, and nobody overtakes a trial that waits for more room than there
// is.
class Fifo : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtRunning() const override { return false; }

 private:
  // Here only to keep their memory from plan to plan.
  Cluster free_;
  std::vector<const WorkItem*> order_;
};

}  // namespace sluice
