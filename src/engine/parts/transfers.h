#pragma once

#include "engine/engine_state.h"

namespace sluice {

// A study that transfers trains only the best point of another study, its leader. For example, the
// winner of a search over small models is trained at full size.
class Transfers {
 public:
  explicit Transfers(EngineState& state) : state_(state) {}

  // Asks for plans of the studies that are to train the best point of this one. Returns whether
  // there are any.
  bool PlanFollowers(const Study& leader);
  // The leader of a study that transfers; nullptr if it is away, and for other studies.
  const Study* LeaderOf(const Study& study) const;
  // The point that the study is to train next, the best of its leader; nullptr if the study's
  // latest trial already has that point. Before the leader has finished, the policy decides
  // (TransferRule): nullptr where it waits for the end, and where the best is not clearly better
  // than the point of the latest trial.
  //
  // Clearly better: by at least a tenth of the distance between the leader's result for the point
  // of the latest trial and the median of the leader's results.
  const Point* Next(const Study& study) const;
  // Whether all trials of the study are made, apart from those whose proposals are on their way.
  bool AllMade(const Study& study) const;
  // How many more trials the study may make, besides those with proposals on their way.
  int Left(const Study& study) const;
  // Whether the study could use room for another trial. A study that transfers has no paused trials
  // to resume, so it needs a point to transfer.
  bool MayMakeMore(const Study& study) const;
  // The fraction of the leader's trials that are over; 1 if there is no leader, or it has finished.
  double LeaderProgress(const Study& study) const;

 private:
  EngineState& state_;
};

}  // namespace sluice
