#pragma once

#include "policy/policy.h"

namespace sluice {

// Hydro (OSDI '23), the part of it that decides who runs where: trials of one shape are fused into
// bundles, each a program of its own on a device, and bundles fill the bubbles of pipeline jobs.
//
// - How many are fused: what memory allows, 1 + (total - m1) / (m2 - m1) less a margin, and no more than
//   the knee of throughput, from where twice as many bring less than a tenth; among devices evenly.
// - A bundle that has lost members takes in others; nobody is moved.
// - A device that is lent takes a bundle sized to the memory that is free there, and only if that bundle
//   will have ended by the time the others have worked off the rest: trials there are slow, and the
//   last one to end is what everybody waits for.
// - Eager transfer: a study that trains the best of another begins when half of that one's trials have
//   ended and a device is idle, and again with each new best.
// - Trials that cannot be fused start in the order they came, on the first devices that are free.
class Hydro : public Policy {
 public:
  // With moves, somebody else sees to it that nobody is left behind on a device that is lent: those are filled with
  // whomever own devices have no room for, now or when they are free, as far as they report in time to come home.
  explicit Hydro(bool moves = false) : moves_(moves) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  // For some of the studies.
  Plan ProposeFor(const std::vector<const StudyView*>& some, const Cluster& cluster,
                  const WorkView& work) const;
  bool LooksAtSpeeds() const override { return true; }
  bool TransfersEarly() const override { return true; }

 private:
  bool moves_;
};

}  // namespace sluice
