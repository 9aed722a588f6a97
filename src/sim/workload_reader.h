#pragma once

#include "base/config.h"
#include "engine/study.h"
#include "sim/learning_curve.h"
#include "sim/true_speed.h"

namespace sluice {

struct Workload {
  WorkloadSpec work;
  CurveSpec curve;
};

// Reads the section `workload` of a scenario's study: what its trials do to devices, and how they
// learn. What is wrong is reported to the file. `node` may be missing: then all is by default.
Workload ReadWorkload(const ConfigNode* node, const StudySpec& study);

}  // namespace sluice
