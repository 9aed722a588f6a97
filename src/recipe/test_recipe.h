#pragma once

#include <string>
#include <utility>

#include "recipe/recipe.h"

namespace sluice::recipe {

// A recipe with all that is required, and with these settings.
inline Recipe RecipeWith(std::initializer_list<std::pair<const char*, const char*>> settings) {
  Recipe recipe;
  recipe.settings = {{"model.network", "zoo:mlp"},
                     {"model.loss", "cross_entropy"},
                     {"train.optimizer", "sgd"},
                     {"train.lr", "0.1"},
                     {"train.batch", "32"}};
  for (const auto& [path, text] : settings) recipe.settings[path] = text;
  return recipe;
}

}  // namespace sluice::recipe
