#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// The most that a study can use of what is dealt out, and its weight.
struct Claim {
  Milli most = 0;
  double weight = 1;
};

// Weighted max-min fairness. No claim gets more than its most. A claim that gets less than its most
// gets at least as much per unit of weight as any other claim. Shares are whole devices as far as
// possible: each exact part is rounded down, and the devices left over go to the claims that lost
// most by rounding, at most one device to each. Ties go to the first claim.
std::vector<Milli> FairShares(Milli all, const std::vector<Claim>& claims);

// What a study could hold if all its trials ran at once, each as wide as it can be.
Milli MostUsed(const StudyView& study);

// What each study may hold of the devices that are not lent, or of the cores if it needs no device.
// In the order of the view.
std::vector<Milli> SharesOf(const Cluster& cluster, const WorkView& work);

// The same, if the aim is that all work ends soonest. First each study gets at most what its trials
// use at the width with the most throughput per device, or what they hold already if that is more.
// The devices that are then left go to studies with trials that can be wider.
//
// In two cases the shares are those of SharesOf. If weights differ, a user has asked for certain
// shares. If a study ends once a trial is good enough, it does not wait for the others.
std::vector<Milli> ThriftySharesOf(const Cluster& cluster, const WorkView& work);

}  // namespace sluice
