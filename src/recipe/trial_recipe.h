#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::recipe {

// What one trial trains with: a recipe with the trial's parameters filled in.

enum class OptimizerKind : std::uint8_t { kSgd, kAdam, kAdamW };

struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::kSgd;
  double lr = 0;
  double momentum = 0;  // of SGD, as are the next two
  double dampening = 0;
  bool nesterov = false;
  double beta1 = 0.9;  // of Adam and AdamW, as are the next two
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;          // of SGD and Adam: added to the gradient; of AdamW: decoupled
  std::optional<double> clip_norm;  // of the gradients of all parameters together
};

// How the learning rate changes. Lengths are in the study's unit of work (epochs or steps), and
// become steps when the number of steps in a unit is known. All but the warm-up are as PyTorch's
// scheduler of that name defines them, called after each step.
struct Schedule {
  enum class Kind : std::uint8_t {
    kConstant,
    kStep,         // times gamma after each `every`
    kMultiStep,    // times gamma at each of `at`
    kExponential,  // times gamma after each unit of work, evenly over its steps
    kCosine,       // falls to lr * last over `over`, then stays
    kOneCycle,     // rises from lr / div to lr in the first `rise` of `over`, then falls
  };
  Kind kind = Kind::kConstant;
  double gamma = 0.1;
  double every = 0;
  std::vector<double> at = {};
  double over = 0;
  double last = 0;  // the last learning rate, as a part of lr (one-cycle: of the first)
  double rise = 0.3;
  double div = 25;
  // Before the schedule begins, the rate rises in equal steps from lr / steps of the warm-up to lr.
  // The schedule's own lengths count from the end of the warm-up.
  double warmup = 0;
};

enum class Precision : std::uint8_t { kFloat32, kFloat64, kBfloat16 };

struct TrialRecipe {
  std::string network;            // zoo:NAME or the path of an archive
  std::string loss = "returned";  // as model::Losses
  double scale = 1;               // the network is narrower by this factor
  std::string rule = "mup";       // how it is parametrised (model::ParametrisationOptions)
  std::string decay = "scaled";
  bool keep_readout = false;
  bool init_from_archive = false;  // weights begin as they are in the archive
  OptimizerSettings optimizer;
  Schedule schedule;
  std::int64_t batch = 0;
  Precision precision = Precision::kFloat32;
  double label_smoothing = 0;                // of cross_entropy
  std::optional<double> dropout;             // of all dropout nodes; nothing: as in the archive
  std::map<std::string, double> dropout_of;  // of the nodes in this module; these come first
  bool evaluate_as_trained = false;          // evaluation runs the training graph

  // Trials can be trained together if their keys are equal: network, scale, batch, optimizer's kind
  // and form, precision, and what else decides which operators run.
  std::string ShapeKey() const;
};

std::string_view Name(OptimizerKind kind);
std::string_view Name(Schedule::Kind kind);
std::string_view Name(Precision precision);

}  // namespace sluice::recipe
