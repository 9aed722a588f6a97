#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/sets/data_set.h"
#include "data/sets/data_spec.h"
#include "recipe/trial_recipe.h"

namespace sluice::recipe {

// As many trials as one process of sluice-trainer takes at once unless it is told otherwise. The
// stacks in which they are trained may be smaller (train::ArrangementChoice); more trials than this
// gain nothing on the processors that were measured.
constexpr int kTrainedTogether = 64;

// The files that a study was made with. Training with other files would be another study.
struct Recorded {
  std::vector<data::FileRecord> archives;  // of networks; those of the zoo have none
  std::vector<data::FileRecord> files;     // of the data, as data::DataSet lists them
  std::uint64_t data_hash = 0;             // as data::DataSet
};

// Fails with failed_precondition, naming the file, unless this archive was recorded. It may lie
// elsewhere than before.
Status CheckSameArchive(const Recorded& recorded, const data::FileRecord& found);
// The same for the data. The arguments are those of data::DataSet.
Status CheckSameData(const Recorded& recorded, const std::vector<data::FileRecord>& files,
                     std::uint64_t hash);

// What to train, as a study says it. The program `sluice-trainer` is given it as JSON, and makes of
// it what each trial trains with.
struct Recipe {
  // The values of the keys below `model` and `train` by their paths, as "train.lr" (Fields()). A
  // value is a text that may hold {words}, the names of parameters. A list has a path for each
  // item, "train.betas.0", and a map one for each key, "train.dropout.layers.0". What is not here
  // has its default.
  std::map<std::string, std::string, std::less<>> settings;
  data::DataSpec data;
  std::uint64_t seed = 0;      // the study's
  std::string unit = "epoch";  // of work: "epoch" or "step"
  std::int64_t length = 0;     // of a trial's training, in that unit; 0: not known
  // Not there before the study is made.
  std::optional<Recorded> recorded;
};

// Reads what ToJson wrote. The text may be anything: fails with invalid_argument if it is no
// recipe.
// Values of settings are checked by Resolve, not here.
Result<Recipe> RecipeFromJson(std::string_view json);
std::string ToJson(const Recipe& recipe);
Result<Recorded> RecordedFromJson(std::string_view json);
std::string ToJson(const Recorded& recorded);

// What is wrong with the value at a path.
struct Mistake {
  std::string path;     // "train.momentum"
  std::string message;  // "expected a number from 0 to below 1, found 2"
};

// All mistakes that can be seen without the parameters of a trial, in the order of the paths.
std::vector<Mistake> CheckRecipe(const Recipe& recipe);

// What a trial trains with. `params_json` is an object with the trial's parameters: texts, numbers
// and booleans. A value that names a parameter which is not in it has its default, as if it were
// not said. Fails with invalid_argument, "train.lr: expected a number above 0, found 'abc' (from
// '{lr}')".
Result<TrialRecipe> Resolve(const Recipe& recipe, std::string_view params_json);

// What a parameter does in training.
struct Reach {
  std::vector<std::string> paths;  // of the values that name it
  // It decides which trials can be trained together (TrialRecipe::ShapeKey).
  bool is_of_shape = false;
  // Whether it is active decides that; its value does not.
  bool is_of_shape_by_presence = false;
};
// By the parameter's name. A parameter that is not in it reaches nothing.
std::map<std::string, Reach, std::less<>> ReachOf(const Recipe& recipe);

}  // namespace sluice::recipe
