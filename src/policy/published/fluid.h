#pragma once

#include "policy/policy.h"

namespace sluice {

// Fluid (MLSys '21): a trial's width is in proportion to what is left of it.
//
//     w_i = min(max(floor(h_i / sum_j h_j * n), 1/c), d)
//
// h_i is the time trial i would still take on one device, the sum goes over the live trials of all
// groups, n is what there is of devices, 1/c and d are the narrowest and the widest a trial can be. The
// longest come first, those that have begun before new ones; what does not fit is narrower, or waits. Below
// one device a trial gets its narrowest share.
//
// Static: a trial's width is settled when its group comes, and stays. Dynamic: widths are computed again
// whenever work or devices change, and whoever has another one saves, leaves and goes on at the new one.
// Either way a group comes as a whole: while studies have more trials to give than are there, they are
// asked for them, and nothing else changes until they have come.
//
// Beside the published code: a trial is only moved if its width changes, after it has saved; several
// groups share the devices by what is left of each; and speeds are measured with the width they were
// measured at.
class Fluid : public Policy {
 public:
  enum class Mode { kStatic, kDynamic };
  explicit Fluid(Mode mode) : mode_(mode) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtSpeeds() const override { return true; }

 private:
  Mode mode_;
};

// The formula, for a trial of which this part of all that is left is left.
Milli FluidWidth(double part, const Demand& demand, Milli devices);

}  // namespace sluice
