#pragma once

#include "policy/policy.h"

namespace sluice {

// Our own policy: all of it ends soonest, or the best model is as good as can be by a deadline. Trials that can use
// width are widened (width_planner.h), those of fixed width are packed (fixed_width_packer.h), those that fuse are bundled, in bubbles
// too (hydro.h), and come home from there at the end (return_from_borrowed.h); whoever runs on a slow device moves to a quicker
// one that is idle (move_to_faster_device.h). Each of them asks what a change saves, against work since the last report and a start-up.
//
// Elastic studies are planned first, each held to its fair share of the devices (fair_share.h), and no wider than pays,
// as long as others can use what that leaves, then bundles, then trials of fixed width in what is left.
//
// Studies that all have a deadline, and cannot do all they want by then, are planned for the best model at it
// (deadline_planner.h), each in its share.
class Confluence : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtSpeeds() const override { return true; }
  bool LooksAtPaces() const override { return true; }
  bool LooksAtForecasts() const override { return true; }
  bool AsksAtReports() const override { return true; }
  bool TransfersEarly() const override { return true; }
};

}  // namespace sluice
