#pragma once

#include "policy/policy.h"

namespace sluice {

class Confluence : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtSpeeds() const override { return true; }
  bool LooksAtPaces() const override { return true; }
  bool AsksAtReports() const override { return true; }
  bool TransfersEarly() const override { return true; }
};

}  // namespace sluice
