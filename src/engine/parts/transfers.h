#pragma once

#include "engine/engine_state.h"

namespace sluice {

// A study that transfers trains the best point of another study, its leader, and nothing else. So
// the winner of a search over small models is trained at full size.
class Transfers {
 public:
  explicit Transfers(const EngineState& state) : state_(state) {}

  // Whether another study is to train the best point of this one.
  bool IsFollowed(const Study& study) const;
  // The best point of the study's leader, unless the study's latest trial has it already. Nothing
  // before the leader has finished, unless the policy transfers early.
  const Point* Next(const Study& study) const;
  // Whether all trials of the study are made, but for those whose proposals are on their way.
  bool AllMade(const Study& study) const;
  // The fraction of its leader's trials that are over; 1 without a leader, or once it has finished.
  double LeaderProgress(const Study& study) const;

 private:
  const Study* LeaderOf(const Study& study) const;

  const EngineState& state_;
};

}  // namespace sluice
