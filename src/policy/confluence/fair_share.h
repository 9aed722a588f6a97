#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// The most that a study can use of what is dealt out, and its weight.
struct Claim {
  Milli most = 0;
  double weight = 1;
};

// Weighted max-min fairness. No claim gets more than its most. A claim that gets less has at least
// as much for its weight as any other claim. Shares are whole devices as far as possible: what
// rounding down leaves goes, at most a device each, to the claims that lack most of their exact
// part. Ties go to the first claim.
std::vector<Milli> FairShares(Milli all, const std::vector<Claim>& claims);

// What a study could hold if all its trials ran at once, each as wide as it can be.
Milli MostUsed(const StudyView& study);

// What each study may hold of the devices that are not lent, or of the cores if it needs no device.
// In the order of the view.
std::vector<Milli> SharesOf(const Cluster& cluster, const WorkView& work);

// The same for the aim that all work ends soonest. First each study gets at most what its trials
// use at the width with the most throughput per device, or what they hold already if that is more.
// What is then left goes to studies with trials that can be wider.
//
// Where weights differ, a user asked for certain parts. A study that ends once a trial is good
// enough does not wait for the others. In both cases the shares are those of SharesOf.
std::vector<Milli> ThriftySharesOf(const Cluster& cluster, const WorkView& work);

}  // namespace sluice
