#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// Returns the trials of a fused study that are to leave lent devices, so that the study's last
// trial ends soonest. On lent devices trials are slow. In the end the whole study would wait for
// the trials left there, although its own devices have room for them. Empty unless the study has no
// other trial to start, or may not run more trials at once. How it works is explained in
// return_from_borrowed.cc.
std::vector<TrialKey> ReturnFromBorrowed(const Cluster& cluster, const WorkView& work,
                                         const StudyView& study);

}  // namespace sluice
