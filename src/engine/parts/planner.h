#pragma once

#include <set>

#include "engine/engine_state.h"
#include "engine/parts/departures.h"
#include "engine/parts/divider.h"
#include "engine/parts/judge.h"
#include "engine/parts/speed_meter.h"
#include "engine/parts/transfers.h"
#include "engine/parts/work_viewer.h"

namespace sluice {

// Carries out plans: starts and moves trials, makes new ones, and ends idle studies.
class Planner {
 public:
  Planner(EngineState& state, Transfers& transfers, SpeedMeter& speed_meter, Departures& departures,
          Judge& judge)
      : state_(state),
        transfers_(transfers),
        speed_meter_(speed_meter),
        departures_(departures),
        judge_(judge),
        viewer_(state, transfers),
        divider_(state, transfers) {}

  // Makes a plan for studies that want one (Study::replan) and carries it out. Repeats this while
  // there is room for more trials and studies have more to do.
  void Replan();

 private:
  void PlanTogether();
  void PlanApart(std::set<StudyId> wanted);
  static bool AnyMoves(const Study& study);
  bool PlanOnce(Policy& policy, Cluster& cluster, const Studies& studies);
  void StartPlaced(const Plan& plan, Cluster& cluster, const Studies& studies);
  static int CapacityOf(const Study& study, BundleId bundle);
  bool HasRoom(const Study& study, BundleId bundle) const;
  void StartLaunch(Study& study, Trial& trial, const Grant& grant);
  void YieldMisplaced(const Plan& plan, const Studies& studies);
  void GiveUp(Study& study, TrialId id);
  bool Feed(Study& study, int wanted);
  void Resume(Study& study, const TrialGroup& group);
  void ReplaceInTraining(Study& study);
  bool Transfer(Study& study);
  static Finish WhyDone(const Study& study);
  bool FinishIfIdle(Study& study);

  EngineState& state_;
  Transfers& transfers_;
  SpeedMeter& speed_meter_;
  Departures& departures_;
  Judge& judge_;
  WorkViewer viewer_;
  Divider divider_;
};

}  // namespace sluice
