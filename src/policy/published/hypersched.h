#pragma once

#include "policy/policy.h"

namespace sluice {

// HyperSched (SoCC '19): the best single model at a deadline.
//
// Admission: a trial starts, or is resumed, only if the time left until the deadline is more than
// min(eta * t_far, e1 * R). e1 is the time of one unit of work on one device. t_far is e1 times the
// units of work that the furthest trial has done. R is the full budget in units. All trials are
// admitted while nothing is measured. They are also admitted while no trial of the study runs and
// none waits to resume after a move. The test is made again for each plan, so that no trial is
// rejected for ever.
//
// Reallocation: each trial that runs gets one device. The devices left over are dealt out in
// rounds, the best trial first. A trial shrinks whenever this allocation gives it less. It grows
// only if it has reported six times since it was started, and would do over a tenth more work by
// the deadline in spite of the new start-up.
//
// The stopper decides which trials continue. HyperSched's own stopper is asha-pausing.
class HyperSched : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
};

}  // namespace sluice
