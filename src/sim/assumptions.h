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

// The source of a figure that a simulation needs.
enum class Origin { kAssumed, kMeasured, kStudyFile, kGiven };

struct Assumption {
  std::string key;    // the key in a scenario's workload: "unit_time"
  std::string what;   // in words: "a unit of work takes"
  std::string value;  // "30s on A100"
  Origin origin = Origin::kAssumed;
};

// A study to be simulated, and the assumptions behind it.
struct AssumedStudy {
  ScenarioStudy study;
  // True if the time of a unit of work is not known. A trial that runs alone then lasts kOneTrial.
  bool in_trials = false;
  bool knows_curve = false;  // how trials learn was given or measured, not assumed
  std::vector<Assumption> assumptions;
  std::vector<std::string> notes;  // how the simulation differs from the study, a sentence each
};
constexpr Duration kOneTrial = std::chrono::hours(1);

// What is known besides the study file. A figure is taken from what the user gave, else from the
// study file (its budget, profile or resources), else from what was measured. If none of these has
// the figure, it is assumed.
struct KnownWorkload {
  GivenWorkload given;
  MeasuredWorkload measured;
  // The kind of device that `measured` was measured on. Empty: no device, or an unknown kind.
  std::string measured_on = {};
};

// Fails with invalid_argument if a figure is missing that cannot be assumed; the message says what
// to give. The time of a unit of work cannot be assumed if the study has a deadline or the user
// gave another time. The length of a trial cannot be assumed if a stopper judges trials on the way.
// Also fails if a trial would report too often or take longer than 100 years.
Result<AssumedStudy> Assume(StudySpec study, const std::vector<Node>& nodes,
                            const KnownWorkload& known);

}  // namespace sluice
