#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/evaluate/metrics.h"
#include "train/measure/metrics.h"

namespace sluice::train {

// Measures what exists of a network (model/evaluate/metrics.h). A network that returns its loss has
// the metrics of classes too, where the scores and classes that the loss was computed from are the
// last two outputs of its evaluation. Elements that its cross entropy ignores count in none.
class NetworkMetrics {
 public:
  NetworkMetrics(LossKind loss, const model::Metrics& exist, std::int64_t trials);

  // The outputs of a batch. Fails with invalid_argument as Metrics does.
  Status Add(std::span<const Value> outputs, const Value& target, std::int64_t examples);
  // Of each trial.
  std::vector<Measured> Results() const;

 private:
  const model::Metrics& exist_;
  std::int64_t trials_;
  Metrics of_loss_;
  std::optional<Metrics> of_classes_;
};

}  // namespace sluice::train
