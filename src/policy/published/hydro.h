#pragma once

#include "policy/policy.h"

namespace sluice {

// Hydro (OSDI '23), the part of it that places trials: trials of one shape are fused into bundles.
// Each bundle is one program on one device, or on cores. Bundles also fill the bubbles of pipeline
// jobs.
//
// - Size of a bundle: what memory allows, 1 + (total - m1) / (m2 - m1), less a margin. m1 and m2
//   are the memory of one trial and of two fused trials. A bundle is no larger than the knee of
//   throughput, beyond which twice as many trials bring less than a tenth more. Trials are spread
//   evenly over the devices.
// - A bundle that has lost members takes in others. No trial is moved.
// - Trials that need no device are bundled on cores. As many bundles run side by side on a node as
//   it has cores for. Each holds the cores of one trial.
// - A bundle has trials of one shape, unless the study's processes take several shapes. It never has
//   more trials than its process takes. A trial that must run alone is not fused.
// - A lent device takes a bundle sized to the memory that is free there. The bundle has as many
//   trials as let all work end soonest, possibly none: trials there are slow, and all others wait
//   for the last one to end.
// - Eager transfer: a study that trains the best of another study begins when half of that study's
//   trials have ended and a device is idle. It begins again with each new best.
// - Trials that cannot be fused start in the order they came, on the first devices that are free.
class Hydro : public Policy {
 public:
  // With `moves`, the caller moves trials back from lent devices (ReturnFromBorrowed), so that none
  // is left behind there. Lent devices then take the trials for which own devices have no room, now
  // or once those are free, as far as these trials report in time to be moved back. Own devices are
  // those that are not lent.
  explicit Hydro(bool moves = false) : moves_(moves) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  // Plans only for these studies.
  Plan ProposeFor(const std::vector<const StudyView*>& some, const Cluster& cluster,
                  const WorkView& work) const;

 private:
  bool moves_;
};

}  // namespace sluice
