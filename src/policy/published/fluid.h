#pragma once

#include "policy/policy.h"

namespace sluice {

// Fluid (MLSys '21): a trial's width is in proportion to the time it still needs.
//
//     w_i = min(max(floor(h_i / sum_j h_j * n), 1/c), d)
//
// h_i is the time trial i would still take on one device. The sum goes over the live trials of all
// groups. n is the number of devices. 1/c and d are the narrowest and the widest that a trial can
// be. A trial that would get less than one device gets its narrowest width. Trials that have begun
// are placed first, new trials after them, and of each of these the longest trial first. A trial
// that does not fit at its width runs narrower, or waits.
//
// Static: a trial's width is settled when its group comes, and stays until its next group. Dynamic:
// widths are computed again whenever work or devices change. A trial with a new width saves, leaves
// and resumes at that width. In both modes a group comes as a whole: while more trials could be
// alive than there are, and studies can give more, the plan only asks for these. Nothing else
// changes until they have come.
//
// Differences from the published code: a trial is moved only if its width changes, and after it has
// saved. Several groups share the devices in proportion to the time that each still needs. Every
// measured speed is kept with the width it was measured at.
class Fluid : public Policy {
 public:
  enum class Mode { kStatic, kDynamic };
  explicit Fluid(Mode mode) : mode_(mode) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;

 private:
  Mode mode_;
};

// The formula above. `part` is h_i / sum_j h_j, and `devices` is n.
Milli FluidWidth(double part, const Demand& demand, Milli devices);

}  // namespace sluice
