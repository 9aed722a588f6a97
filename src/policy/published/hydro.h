#pragma once

#include "policy/policy.h"

namespace sluice {

// The part of Hydro (OSDI '23) that places trials. Trials of one shape are fused into bundles. Each
// bundle is one program on one device, or on cores. Bundles also fill the bubbles of pipeline jobs.
//
// - Size of a bundle: at most 1 + (total - m1) / (m2 - m1) trials. `total` is the device's memory
//   less a margin. m1 and m2 are the memory of one trial and of two fused trials. A bundle is also
//   no larger than the knee of throughput, above which twice as many trials bring less than a tenth
//   more throughput. Trials are spread evenly over the devices.
// - A bundle that has lost members takes in others. No trial is moved.
// - Trials that need no device are bundled on cores. As many bundles run side by side on a node as
//   it has cores for. Each bundle holds the cores of one trial.
// - A bundle has trials of one shape, unless the study's processes take several shapes. It never
//   has more trials than its process takes. A trial that must run alone is not fused.
// - A bundle on a lent device is no larger than the device's memory allows. It has the number of
//   trials with which all work ends soonest, possibly none: trials on a lent device are slow, and
//   the study waits for the last of them.
// - Eager transfer: a study that trains the best trial of another study begins when half of the
//   other study's trials have ended and a device is idle. It begins again with each new best trial.
// - Trials that cannot be fused start in the order they came, on the first devices that are free.
class Hydro : public Policy {
 public:
  // Own devices are devices that are not lent. With `moves`, the caller moves trials back from lent
  // devices to own devices (ReturnFromBorrowed), so that no trial is left behind. Lent devices then
  // take the trials for which own devices will have no room even once they are free, as far as
  // these trials report in time to be moved back.
  explicit Hydro(bool moves = false) : moves_(moves) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  // Plans only for these studies.
  Plan ProposeFor(const std::vector<const StudyView*>& some, const Cluster& cluster,
                  const WorkView& work) const;

 private:
  bool moves_;
};

}  // namespace sluice
