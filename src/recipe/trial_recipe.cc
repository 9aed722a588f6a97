#include "recipe/trial_recipe.h"

#include "base/json_writer.h"

namespace sluice::recipe {

std::string_view Name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd: return "sgd";
    case OptimizerKind::kAdam: return "adam";
    case OptimizerKind::kAdamW: return "adamw";
  }
  return "";
}

std::string_view Name(Schedule::Kind kind) {
  switch (kind) {
    case Schedule::Kind::kConstant: return "constant";
    case Schedule::Kind::kStep: return "step";
    case Schedule::Kind::kMultiStep: return "multi_step";
    case Schedule::Kind::kExponential: return "exponential";
    case Schedule::Kind::kCosine: return "cosine";
    case Schedule::Kind::kOneCycle: return "one_cycle";
  }
  return "";
}

std::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kFloat32: return "float32";
    case Precision::kFloat64: return "float64";
    case Precision::kBfloat16: return "bf16";
  }
  return "";
}

std::string TrialRecipe::ShapeKey() const {
  JsonWriter key;
  key.Add("network", network).Add("loss", loss).Add("scale", scale);
  key.Add("rule", rule).Add("decay", decay).Add("keep_readout", keep_readout);
  key.Add("optimizer", Name(optimizer.kind)).Add("nesterov", optimizer.nesterov);
  key.Add("clips", optimizer.clip_norm.has_value());
  key.Add("batch", batch).Add("precision", Name(precision));
  key.Add("evaluate_as_trained", evaluate_as_trained).Add("init_from_archive", init_from_archive);
  return key.Take();
}

}  // namespace sluice::recipe
