// rooms: recipe

// Any bytes at all are a recipe or are refused with a message. What is taken is written and read
// again as it was. A line break ends the recipe; what follows it are the parameters of a trial.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "recipe/recipe.h"

namespace {

using namespace sluice::recipe;

void CheckTrial(const TrialRecipe& trial) {
  if (trial.network.empty() || trial.batch < 1 || !(trial.optimizer.lr > 0)) std::abort();
  if (!(trial.scale >= 1) || trial.ShapeKey().empty()) std::abort();
  const Schedule& schedule = trial.schedule;
  if (schedule.kind == Schedule::Kind::kStep && !(schedule.every > 0)) std::abort();
  if (schedule.kind == Schedule::Kind::kMultiStep && schedule.at.empty()) std::abort();
  if (schedule.kind >= Schedule::Kind::kCosine && !(schedule.over > 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const auto recipe = RecipeFromJson(text.substr(0, end));
  if (!recipe) {
    if (!recipe.error().message.starts_with("recipe: ")) std::abort();
    return 0;
  }
  const auto again = RecipeFromJson(ToJson(*recipe));
  if (!again || ToJson(*again) != ToJson(*recipe)) std::abort();
  for (const Mistake& mistake : CheckRecipe(*recipe))
    if (mistake.message.empty()) std::abort();
  ReachOf(*recipe);
  const auto trial = Resolve(*recipe, text.substr(std::min(end + 1, text.size())));
  if (!trial && trial.error().message.empty()) std::abort();
  if (trial) CheckTrial(*trial);
  return 0;
}
