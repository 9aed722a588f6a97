#pragma once

#include <utility>
#include <vector>

#include "engine/engine_state.h"
#include "engine/parts/transfers.h"
#include "policy/sharing.h"

namespace sluice {

// The room that studies are given: of what is free, each device is kept for one study.
class Division {
 public:
  explicit Division(std::vector<Reservation> reserved) : reserved_(std::move(reserved)) {}

  bool empty() const { return reserved_.empty(); }
  // Whether room for a trial is kept for the study.
  bool IsFor(StudyId study) const;
  // The cluster as this study is to see it: all that is kept for others is taken.
  Cluster PartOf(const Cluster& cluster, StudyId study) const;

 private:
  std::vector<Reservation> reserved_;
};

// Divides the devices among the studies that have work, by their weights.
class Divider {
 public:
  Divider(const EngineState& state, const Transfers& transfers)
      : state_(state), transfers_(transfers) {}

  Division Divide() const;

 private:
  bool AreShared() const;
  double UsualSeconds() const;
  int WantsOf(const Study& study) const;
  Sharer SharerOf(const Study& study, double usual_seconds, const ClusterSize& size) const;

  const EngineState& state_;
  const Transfers& transfers_;
};

}  // namespace sluice
