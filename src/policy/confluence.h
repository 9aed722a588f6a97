#pragma once

#include "policy/policy.h"

namespace sluice {

// Our own policy: all of it ends soonest. Trials that can use width are widened (widening.h), those of fixed width
// are packed (filling.h), those that fuse are bundled, in bubbles too (hydro.h), and come home from there at the
// end (homecoming.h); studies share devices fairly (fair_share.h). Whether a change pays is always asked the same way:
// what it saves, against work since the last report and a start-up.
//
// Elastic studies are planned first, each within its share of the devices, then bundles, then trials of fixed
// width in what is left. Nobody but elastic trials, and those of fixed width whose work is fixed too, is moved.
//
// Studies that all have a deadline are decided as HyperSched decides: nothing better is known here yet.
class Confluence : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtSpeeds() const override { return true; }
  bool LooksAtPaces() const override { return true; }
  bool AsksAtReports() const override { return true; }
  bool TransfersEarly() const override { return true; }
};

}  // namespace sluice
