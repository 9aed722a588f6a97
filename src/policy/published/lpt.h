#pragma once

#include "policy/policy.h"

namespace sluice {

// As fifo, but the longest trial first: the classic rule for a short makespan. The length of a
// trial is the work it has left at the speed that was measured.
class Lpt : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
};

}  // namespace sluice
