#pragma once

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
  Cluster scratch_;  // what the plan leaves free; here only to keep its memory from plan to plan
};

}  // namespace sluice
