#pragma once

#include <string_view>

#include "config/config.h"
#include "engine/study.h"

namespace sluice {

// Whether a file is a sweep of W&B: it says `method` or `parameters`, and not `space` or
// `objective` as a study does.
bool IsSweep(const ConfigMap& map);

// Reads a sweep into the study that does the same:
//
//   method      grid, random; bayes is the sampler tpe
//   metric      the objective; its target is a stop_at
//   parameters  the space; constants are choices of one, names inside names are joined with dots
//   early_terminate  the stopper asha, whose work is counted in logged values of the metric
//   command     the program, its ${macros} as {templates}
//   run_cap     the number of trials; without it, and with no grid, the study is `endless`
//
// What is wrong is reported to the file, and the spec is then not to be used.
StudySpec ReadSweep(const ConfigNode& root, const ConfigMap& map, std::string_view default_name);

}  // namespace sluice
