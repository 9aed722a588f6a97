#pragma once

#include "config/config.h"
#include "engine/read/templates.h"
#include "engine/study.h"

namespace sluice {

// Whether the file of a study says what to train in place of a program (`train`).
bool SaysTraining(const ConfigMap& study);

// Reads the keys `data`, `train` and `model` of such a file into `spec.training`, and derives the
// shape of the study's trials. The study's space, budget and unit must be read before. Mistakes are
// reported to the file.
struct TrainingContext {
  const ParameterNames& names;  // that values may use
  bool space_good = false;
  bool budget_good = false;
};
void ReadTraining(const ConfigMap& study, const TrainingContext& context, StudySpec& spec);

// Reads the key `model` of a study that has a program.
std::optional<ModelSpec> ReadModel(const ConfigMap& study);

}  // namespace sluice
