#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"
#include "recipe/trial_recipe.h"

namespace sluice {

// What a study file with `train` says, held against the networks and the data that it names.
struct TrainingSummary {
  std::string networks;              // "zoo:mlp, cross_entropy"
  std::string data;                  // "npy: 5000 examples of uint8 [1, 28, 28], 10 classes"
  std::vector<std::string> metrics;  // that sluice-trainer reports of each trial
  std::vector<std::string> notes;    // remarks for the user
  // Of the trials that were drawn: networks that are narrower than the one that is named, and how
  // they are parametrised.
  std::vector<recipe::TrialRecipe> narrow;
};

// Reads the data and the networks of a study with `train`. Draws trials, and looks at what each
// would train with. Fails with invalid_argument if something cannot be read or does not go
// together. The message begins with the place in the file ("study.yaml:7: train.momentum: ...").
// `source` is the text of `file`, which is in `folder`.
Result<TrainingSummary> InspectTraining(const StudySpec& spec, const std::string& source,
                                        const std::string& file, const std::string& folder);

// How each parameter reaches the training, by its name: "train.batch, which trials that are trained
// together have in common".
std::map<std::string, std::string> DescribeReach(const StudySpec& spec);

}  // namespace sluice
