#pragma once

#include "policy/policy.h"

namespace sluice {

// HyperSched (SoCC '19): the best single model at a deadline.
//
// Admission: a trial starts, or is resumed, only if the time left until the deadline is more than
// min(eta * t_far, e1 * R). e1 is the time of one unit of work on one device. t_far is e1 times the
// units of work that the furthest trial has done. R is the full budget in units. All trials are
// admitted while nothing is measured, and while no trial of the study runs or is to resume
// elsewhere. The test is made again for each plan, so that no trial is rejected for ever.
//
// Reallocation: each trial that runs gets one device. The devices left over are dealt out in
// rounds, the best trial first. A trial shrinks whenever this allocation says so. It grows only if
// it would get further by the deadline by more than a tenth, including the start-up, and has
// reported six times since it was started.
//
// The stopper decides which trials continue; asha-pausing is HyperSched's own.
class HyperSched : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
};

}  // namespace sluice
