#include "train/measure/network_metrics.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::train {
namespace {

// What a cross entropy node of PyTorch compared: its classes are dimension 1 of the scores, or the
// only one. Here they are the last.
LossInput ComparedClasses(const Value& scores, const Value& classes, std::int64_t ignored,
                          std::int64_t trials) {
  at::Tensor rows = At(scores, 0, trials);
  rows = rows.dim() == 2 ? rows.unsqueeze(1) : rows.movedim(2, -1);
  at::Tensor own = At(classes, 0, trials);
  if (own.dim() == 1) own = own.unsqueeze(1);
  return {.output = Stacked(rows),
          .target = Stacked(own.masked_fill(own == ignored, kIgnoredClass)),
          .trials = trials};
}

}  // namespace

NetworkMetrics::NetworkMetrics(LossKind loss, const model::Metrics& exist, std::int64_t trials)
    : exist_(exist), trials_(trials), of_loss_(loss, trials) {
  if (exist.scores && exist.scores->classes) of_classes_.emplace(LossKind::kCrossEntropy, trials);
}

Status NetworkMetrics::Add(std::span<const Value> outputs, const Value& target,
                           std::int64_t examples) {
  SLUICE_TRY(of_loss_.Add(
      {.output = outputs.front(), .target = target, .trials = trials_, .examples = examples}));
  if (!of_classes_) return {};
  SLUICE_CHECK(outputs.size() >= 3, "the loss, the scores and the classes are outputs");
  const at::NoGradGuard without_gradients;
  return of_classes_->Add(ComparedClasses(outputs[outputs.size() - 2], outputs.back(),
                                          exist_.scores->ignored_class, trials_));
}

std::vector<Measured> NetworkMetrics::Results() const {
  std::vector<Measured> results = of_loss_.Results();
  if (!of_classes_) return results;
  const std::vector<Measured> of_classes = of_classes_->Results();
  for (std::size_t trial = 0; trial < results.size(); ++trial) {
    for (const auto& [name, value] : of_classes[trial].values) {
      if (name == "loss" || std::ranges::find(exist_.names, name) == exist_.names.end()) continue;
      results[trial].values[name] = value;
      if (name == "perplexity") results[trial].notes = of_classes[trial].notes;
    }
  }
  return results;
}

}  // namespace sluice::train
