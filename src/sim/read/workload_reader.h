#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/config.h"
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

// What a study's trials do where nothing is said.
Workload DefaultWorkload(const StudySpec& study);

// Some keys of such a section, said somewhere else than in a scenario.
struct GivenWorkload {
  Workload workload;           // what is not given is as in `base`
  std::set<std::string> keys;  // that were given, those of the curve as "curve.best"
  bool Has(const std::string& key) const { return keys.contains(key); }
};
// Reads them from a map in YAML; `name` is what messages call it. No key is required.
Result<GivenWorkload> ReadGivenWorkload(std::string_view text, std::string_view name,
                                        const StudySpec& study, const Workload& base);

}  // namespace sluice
