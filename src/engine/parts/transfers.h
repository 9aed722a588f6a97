#pragma once

#include "engine/engine_state.h"

namespace sluice {

// A study that transfers trains only the best point of another study, its leader. For example, the
// winner of a search over small models is trained at full size.
class Transfers {
 public:
  explicit Transfers(const EngineState& state) : state_(state) {}

  // Whether another study is to train the best point of this one.
  bool IsFollowed(const Study& study) const;
  // The best point of the study's leader; nullptr if the study's latest trial already has that
  // point. Also nullptr before the leader has finished, unless the policy transfers early.
  const Point* Next(const Study& study) const;
  // Whether all trials of the study are made, apart from those whose proposals are on their way.
  bool AllMade(const Study& study) const;
  // The fraction of the leader's trials that are over; 1 if there is no leader, or it has finished.
  double LeaderProgress(const Study& study) const;

 private:
  const Study* LeaderOf(const Study& study) const;

  const EngineState& state_;
};

}  // namespace sluice
