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
  bool in_trials =
      false;  // nobody knows how long a unit takes: one trial alone is taken for kOneTrial
  bool knows_curve = false;  // values are those of such trials, and not made up
  std::vector<Assumption> assumptions;
  std::vector<std::string> notes;  // what of the study is not simulated, a sentence each
};
constexpr Duration kOneTrial = std::chrono::hours(1);

// What is known beside the study file. A figure is taken from what was given, else from the study's
// profile, else from what was measured, else assumed.
struct KnownWorkload {
  GivenWorkload given;
  MeasuredWorkload measured;
  std::string measured_on = {};  // the kind of its devices; empty: it had none, or nobody knows
};

// Fails with invalid_argument, saying what to give, where a figure is missing that cannot be
// assumed: how long a unit takes where there is a deadline or another time, how far trials go where a stopper
// judges on the way.
Result<AssumedStudy> Assume(StudySpec study, const std::vector<Node>& nodes,
                            const KnownWorkload& known);

}  // namespace sluice
