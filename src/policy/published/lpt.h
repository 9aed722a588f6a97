#pragma once

#include "policy/policy.h"

namespace sluice {

// As fifo, the longest first: the classic rule for a short makespan. How long a trial takes is what is
// left to do for it at the speed that was measured.
class Lpt : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtRunning() const override { return false; }
  bool LooksAtSpeeds() const override { return true; }
};

}  // namespace sluice
