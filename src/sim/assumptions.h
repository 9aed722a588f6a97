#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "engine/study.h"
#include "sim/read/measured_workload.h"
#include "sim/read/scenario.h"
#include "sim/read/workload_reader.h"

namespace sluice {

// Where a figure that a simulation needs came from.
enum class Origin { kAssumed, kMeasured, kStudyFile, kGiven };

struct Assumption {
  std::string key;    // as a scenario's workload has it: "unit_time"
  std::string what;   // for people: "a unit of work"
  std::string value;  // "30s on A100"
  Origin origin = Origin::kAssumed;
};

// A study as it is to be simulated, and what that rests on.
struct AssumedStudy {
  ScenarioStudy study;
  // It is not known how long a unit of work takes: one trial alone is taken to last kOneTrial.
  bool in_trials = false;
  bool knows_curve = false;  // how trials learn was given or measured, and not made up
  std::vector<Assumption> assumptions;
  std::vector<std::string> notes;  // what of the study is not simulated, a sentence each
};
constexpr Duration kOneTrial = std::chrono::hours(1);

// What is known beside the study file. A figure is taken from what was given, else from the study
// file (its budget, profile or resources), else from what was measured. Else it is assumed.
struct KnownWorkload {
  GivenWorkload given;
  MeasuredWorkload measured;
  // The kind of device that was measured on; empty: there was none, or it is not known.
  std::string measured_on = {};
};

// Fails with invalid_argument where a figure is missing that cannot be assumed, and says what to
// give. Such figures are how long a unit of work takes, where there is a deadline or another time,
// and how far trials go, where a stopper judges them on the way.
Result<AssumedStudy> Assume(StudySpec study, const std::vector<Node>& nodes,
                            const KnownWorkload& known);

}  // namespace sluice
