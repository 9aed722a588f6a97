#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine_state.h"
#include "engine/parts/transfers.h"

namespace sluice {

using Studies = std::vector<Study*>;

// What a policy is shown: the trials that run or could start, and their studies.
class WorkViewer {
 public:
  WorkViewer(EngineState& state, const Transfers& transfers)
      : state_(state), transfers_(transfers) {}

  // What this policy is shown of these studies. The view is valid until View is called again or a
  // trial changes.
  const WorkView& View(const Policy& policy, const Studies& studies);

 private:
  void AddRunning(Study& study);
  void AddWaiting(Study& study);
  StudyView Of(Study& study, int ready) const;
  std::string_view ShapeAt(const Study& study, const Point& point);
  const Forecast* ForecastOf(Study& study, TrialId trial) const;

  EngineState& state_;
  const Transfers& transfers_;
  WorkView view_;                 // a member, so that its memory is used again for the next plan
  std::set<std::string> shapes_;  // texts that the view refers to, for studies with several shapes
};

}  // namespace sluice
