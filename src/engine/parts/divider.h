#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "engine/engine_state.h"
#include "engine/parts/transfers.h"
#include "policy/sharing.h"

namespace sluice {

// The room that studies are given: of what is free, each device is kept for one study.
class Division {
 public:
  // While one study has all there is, nothing is divided.
  Division() = default;
  explicit Division(std::vector<Reservation> reserved)
      : is_shared_(true), reserved_(std::move(reserved)) {}

  bool is_shared() const { return is_shared_; }
  // Whether room for a trial is kept for the study.
  bool IsFor(StudyId study) const;
  // The part of the cluster that this study has: all but what others hold, what is kept for them,
  // and what is hidden from it.
  Cluster PartOf(const Cluster& cluster, const Study& study) const;

 private:
  bool is_shared_ = false;
  std::vector<Reservation> reserved_;
};

// Divides the devices among the studies that have work, by their weights.
class Divider {
 public:
  Divider(EngineState& state, const Transfers& transfers) : state_(state), transfers_(transfers) {}

  Division Divide();
  // Whether the study may use lent devices, which are not divided, and has trials for them.
  bool MayBorrow(const Study& study) const;
  // Whether the study has only paused trials, and none of them may go on: while others have the
  // devices, it is not asked about them.
  bool IsAtItsEnd(const Study& study) const;

 private:
  bool AreShared() const;
  void YieldToLeaders(std::vector<Sharer>& sharers);
  void ForgiveIdleTime(std::vector<Sharer>& sharers);
  double UsualSeconds() const;
  int WantsOf(const Study& study) const;
  const Demand* NextDemand(const Study& study);
  Sharer SharerOf(const Study& study, double usual_seconds, const ClusterSize& size);

  EngineState& state_;
  const Transfers& transfers_;
  std::deque<Demand> demands_;  // of programs that do not take what a trial of their study demands
};

}  // namespace sluice
