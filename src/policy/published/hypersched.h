#pragma once

#include "policy/policy.h"

namespace sluice {

// HyperSched (SoCC '19): the best single model at a deadline.
//
// Admission: a trial starts, or is resumed, only if what is left until the deadline is more than
// min(eta * t_far, e1 * R): e1 is the time of one unit of work on one device, t_far the time the trial
// that got furthest has worked, counted in units, R the full budget. While nothing is measured everybody
// is admitted, and while nothing runs. The test is made anew for each plan, so that nothing it decides is
// for ever.
//
// Reallocation: each trial that runs gets one device, and those that are left over go round, the best
// trial first. A trial shrinks whenever the deal says so, and grows only if it would get further by the
// deadline by more than a tenth, starting up included, and has reported six times since it was started.
//
// Which trials go on is for the stopper to say: asha-pausing is HyperSched's.
class HyperSched : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtSpeeds() const override { return true; }
  bool AsksAtReports() const override { return true; }
};

}  // namespace sluice
