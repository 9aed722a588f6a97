#pragma once

#include "engine/study.h"
#include "engine/trial.h"
#include "search/sampler.h"

namespace sluice {

// What a sampler is told of a trial.
Observation ObservationOf(const StudySpec& spec, const Trial& trial);

}  // namespace sluice
