#pragma once

#include "policy/policy.h"

namespace sluice {

// Sluice's own policy. It plans so that all work ends as soon as possible. If there is too little
// time for all work, it plans for the best model at the deadline.
//
// - Elastic trials are widened (width_planner.h).
// - Trials of fixed width are packed onto devices (fixed_width_packer.h).
// - Trials that fuse are bundled into one program, also on devices that a pipeline job lends during
//   its bubbles (published/hydro.h). At the end they return from lent devices
//   (return_from_borrowed.h).
// - A trial on a slow device moves to a faster one that is idle (move_to_faster_device.h).
//
// Each of these weighs what a change saves against what it costs: the work since the last report,
// and a start-up.
//
// Elastic studies are planned first, each held to its fair share of the devices (fair_share.h). As
// long as other studies can use the devices, elastic trials are no wider than the width with the
// most throughput per device. Bundles come next, then trials of fixed width in what is left.
//
// If all studies have a deadline, and one of them cannot do all its work in time, each study is
// planned for its best model at its deadline (deadline_planner.h), within its share.
class Confluence : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
};

}  // namespace sluice
