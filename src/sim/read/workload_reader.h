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
// learn. Mistakes are reported to the file. If `node` is null, all values are defaults.
Workload ReadWorkload(const ConfigNode* node, const StudySpec& study);

// The workload of a study that says nothing about it.
Workload DefaultWorkload(const StudySpec& study);

// Some keys of such a section, given outside a scenario (the option --workload).
struct GivenWorkload {
  Workload workload;           // keys that are not given have the values of `base`
  std::set<std::string> keys;  // keys that were given, those of the curve as "curve.best"
  bool Has(const std::string& key) const { return keys.contains(key); }
};
// Reads the keys from a map in YAML. `name` is the text's name in messages. No key is required.
Result<GivenWorkload> ReadGivenWorkload(std::string_view text, std::string_view name,
                                        const StudySpec& study, const Workload& base);

}  // namespace sluice
