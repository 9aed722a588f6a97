#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// How much of what there is each wants at most, and its weight.
struct Claim {
  Milli most = 0;
  double weight = 1;
};

// Weighted max-min: nobody gets more than it claims, and who gets less than that has as much for its weight as
// anybody. In whole devices as far as it goes: what is left of a division goes, a device each, to those who lack most of
// their part, and of equals to the first.
std::vector<Milli> FairShares(Milli all, const std::vector<Claim>& claims);

// What a study could hold if all of its trials ran at once, each as wide as it can be.
Milli MostUsed(const StudyView& study);

// What each study may hold of the devices nobody lends, or of the cores where it needs no device, in the order of the view.
std::vector<Milli> SharesOf(const Cluster& cluster, const WorkView& work);

// The same where all of it is to end soonest: no study has more than its trials use at the width at which a device does
// most, as long as another could do so; what that leaves is for whoever can be wider. Where weights differ somebody asked
// for a part, and who is over once a trial is good enough does not wait for the others: then as above.
std::vector<Milli> ThriftySharesOf(const Cluster& cluster, const WorkView& work);

}  // namespace sluice
