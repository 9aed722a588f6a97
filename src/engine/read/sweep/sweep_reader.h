#pragma once

#include <string_view>

#include "config/config.h"
#include "engine/study.h"

namespace sluice {

// Whether a file is a W&B sweep: it has `method` or `parameters`, and neither `space` nor
// `objective`, which a study has.
bool IsSweep(const ConfigMap& map);

// Reads a sweep into the study that does the same:
//
//   method      grid, random; bayes is the sampler tpe
//   metric      the objective; its target is a stop_at
//   parameters  the space; a constant is a choice with one value, and names inside names are joined
//               with dots
//   early_terminate  the stopper asha; work is the number of logged values of the metric
//   command     the program, its ${macros} as {templates}
//   run_cap     the number of trials; without it, and without a grid, the study is `endless`
//
// Mistakes are reported to the file, and the spec must then not be used.
StudySpec ReadSweep(const ConfigNode& root, const ConfigMap& map, std::string_view default_name);

}  // namespace sluice
