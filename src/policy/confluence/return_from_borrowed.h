#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// Finds the trials of a fused study that are to leave lent devices, so that the study's last
// trial ends soonest. On lent devices trials are slow, and in the end the whole study waits for
// those that were left there, although its own devices have room for them. Only for a study that
// has no other trial to start, or may run no more at once. How it works is explained in
// return_from_borrowed.cc.
std::vector<TrialKey> ReturnFromBorrowed(const Cluster& cluster, const WorkView& work,
                                         const StudyView& study);

}  // namespace sluice
