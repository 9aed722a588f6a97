#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/evaluate/comparison.h"
#include "model/graph.h"

namespace sluice::model {

// Scores of classes, and the classes that they are compared with.
struct Scores {
  ValueId scores{};
  // Empty: the classes come with the data. Set: they are an input of the network, or computed.
  std::optional<ValueId> classes = {};
  std::int64_t ignored_class = -100;  // elements of this class do not count
};

// What can be measured of a network besides how long it takes.
struct Metrics {
  struct Missing {
    std::string name;
    std::string why;
  };
  std::vector<std::string> names;  // of "loss", "accuracy", "top5", "perplexity"; loss comes first
  std::vector<Missing> missing;    // the others, in this order
  // For accuracy and top5. The values are those of the evaluation graph.
  std::optional<Scores> scores = {};
  // Whether the loss is measured on the batches of training, because evaluation is unknown.
  bool only_training_loss = false;
};

// Which metrics exist for a network that is trained by `loss`, one of Losses().
//
// - loss: always.
// - accuracy: the share of elements whose class has the highest score; under binary_cross_entropy,
//   of outputs that are on the target's side of 0. A network that returns its loss has scores if
//   the loss is what a cross entropy node returns: the operands of that node. Other outputs are not
//   taken for scores, since nothing says which targets they belong to.
// - top5: the share of elements whose class is among the five highest scores; from 5 classes on.
//   `classes` is how many the data has, or 0 if that is not known.
// - perplexity: e to the power of the mean cross entropy, without label smoothing and weights. A
//   network that returns its loss has it if the loss is such a mean.
//
// The names are the same for the graph of training; its scores may be those before a dropout.
Metrics MetricsOf(const Graph& evaluation, std::string_view loss, const EvaluationPlan& plan,
                  std::int64_t classes = 0);

// A line for each reason why metrics are missing: "no accuracy, top5: ...".
std::vector<std::string> MissingText(const Metrics& metrics);

}  // namespace sluice::model
