#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// Of a fused study that has nobody else to start, or may run no more at once: which of its trials on devices that are
// lent are to leave them, so that the last ends soonest. There they are slow, and while own devices have room for more of them, all wait
// for those that were left behind. The prose is in return_from_borrowed.cc.
std::vector<TrialKey> ReturnFromBorrowed(const Cluster& cluster, const WorkView& work,
                                         const StudyView& study);

}  // namespace sluice
