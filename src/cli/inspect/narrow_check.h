#pragma once

#include <string>
#include <vector>

#include "recipe/trial_recipe.h"

namespace sluice {

// Trials of a study with `model.scale` train narrower networks than the one that is named. What
// sluice-trainer can find out about such networks is said before the trials begin.

// Adds a network, unless it is there: of what a check looks at, the scale is all that may differ,
// and the narrower of two stays.
void AddNarrow(std::vector<recipe::TrialRecipe>& networks, const recipe::TrialRecipe& trial);

// Runs `sluice-trainer check` on these networks, with all that their trials have in common. Returns
// remarks for the user: one for each network that is checked, with what was found, and one if there
// are more. Nothing fails here: hyperparameters that do not carry over may still be good enough.
std::vector<std::string> CheckNarrow(const std::vector<recipe::TrialRecipe>& networks,
                                     const std::string& trainer, const std::string& folder);

}  // namespace sluice
