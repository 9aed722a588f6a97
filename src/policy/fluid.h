#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// Fluid (MLSys '21): a trial's width is in proportion to what is left of it.
//
//     w_i = min(max(floor(h_i / sum_j h_j * n), 1/c), d)
//
// h_i is the time trial i would still take on one device, the sum goes over the live trials of all
// groups, n is what there is of devices, 1/c and d are the narrowest and the widest a trial can be. The
// longest come first; what does not fit waits. Below one device a trial gets its narrowest share.
//
// Static: a trial's width is settled when its group comes, and stays. A group comes as a whole: nobody
// is placed while proposals of its study are on their way. Dynamic: widths are computed again whenever
// work or devices change, and whoever has another one saves, leaves and goes on at the new one.
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

// The formula, on times of trials with these demands, of devices of which there are so many. In the
// order of the times.
std::vector<Milli> FluidWidths(const std::vector<double>& times, const std::vector<Demand>& demands,
                               Milli devices);

}  // namespace sluice
