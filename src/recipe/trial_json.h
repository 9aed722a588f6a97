#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "recipe/trial_recipe.h"

namespace sluice::recipe {

// What a checkpoint says of itself, besides the state.
struct CheckpointNotes {
  OptimizerKind optimizer = OptimizerKind::kSgd;
  Precision precision = Precision::kFloat32;
  std::string recipe = "{}";  // a JSON object of the caller; it is kept as it is
  // The losses of the steps that the trial's next report tells the mean of.
  double loss_sum = 0;
  std::int64_t losses = 0;
};

// trial.json of a checkpoint (docs/models.md).
struct TrialJson {
  static constexpr int kVersion = 1;

  struct Multiplied {
    std::string module;  // whose node has the multiplier; may be empty
    std::string why;
    double factor = 1;              // of the parameters
    std::vector<std::string> into;  // by name; empty: it cannot be folded
    std::string why_not;
  };

  std::int64_t step = 0;
  std::string network;  // as in the recipe
  double scale = 1;
  std::string fingerprint;
  CheckpointNotes notes;
  std::vector<std::string> own;                // tensors that the trial has of its own
  std::vector<std::string> not_in_state_dict;  // those of the network that no state dict has
  std::vector<std::string> complex;            // stored as pairs of real numbers
  std::vector<std::pair<std::string, std::string>> tied;  // and the parameter that it is tied to
  std::vector<Multiplied> multipliers;
  std::string model_digest;  // of the tensors among `own`
  std::string optimizer_digest;
};

std::string ToJson(const TrialJson& about);
// What serves only to load the parameters into a module (sluice.load) is not read. Fails with
// corruption if the text is not what ToJson writes, with failed_precondition if a later version
// wrote it.
Result<TrialJson> ReadTrialJson(std::string_view text);

}  // namespace sluice::recipe
