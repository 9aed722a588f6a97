#include "train/measure/metrics.h"

#include <fmt/format.h>

#include <cmath>

#include "train/measure/class_rows.h"

namespace sluice::train {
namespace {

bool IsOfClasses(LossKind loss) {
  return loss == LossKind::kCrossEntropy || loss == LossKind::kNll;
}

// How many classes come before that of the row, by their scores: [trials, N]. NaN comes before all.
at::Tensor Places(const ClassRows& rows, const at::Tensor& classes) {
  const std::int64_t count = rows.scores.size(-1);
  // A class that is ignored needs any place.
  const at::Tensor own = classes.clamp_min(0).unsqueeze(-1);
  const at::Tensor score = rows.scores.gather(-1, own);
  const at::Tensor numbers = at::arange(count, own.options());
  const at::Tensor ties = rows.scores.eq(score).logical_and_(numbers < own);
  const at::Tensor not_ahead = rows.scores.le(score).sum(at::IntArrayRef{-1});
  return count - not_ahead + ties.sum(at::IntArrayRef{-1});
}

std::vector<double> ReadNumbers(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor here = tensor.cpu().contiguous();
  const auto* first = here.const_data_ptr<double>();
  return {first, first + here.numel()};
}

}  // namespace

void Metrics::AddTo(at::Tensor& sum, const at::Tensor& numbers) const {
  if (!sum.defined()) sum = at::zeros({trials_}, numbers.options().dtype(at::kDouble));
  sum.add_(numbers);
}

Status Metrics::AddHits(const LossInput& batch) {
  if (loss_ == LossKind::kBinaryCrossEntropy) {
    const at::Tensor x = At(batch.output, 0, trials_);
    const at::Tensor target = At(Reshaped(batch.target, batch.output.sizes()), 0, trials_);
    const at::Tensor right = ((x > 0) == (target > 0.5)).logical_and_(x == x);
    AddTo(hits_, right.reshape({trials_, -1}).sum(at::IntArrayRef{1}));
    return {};
  }
  if (!IsOfClasses(loss_)) return {};
  SLUICE_ASSIGN(const ClassRows rows, RowsOfClasses("cross_entropy", batch));
  const at::Tensor classes =
      rows.probabilities.defined() ? rows.probabilities.argmax(-1) : At(rows.classes, 0, trials_);
  const at::Tensor places = Places(rows, classes);
  const at::Tensor counted = classes != kIgnoredClass;
  const auto within = [&](std::int64_t best) {
    return (places < best).logical_and_(counted).sum(at::IntArrayRef{1});
  };
  AddTo(hits_, within(1));
  if (rows.scores.size(-1) >= 5) AddTo(hits5_, within(5));
  return {};
}

Status Metrics::Add(const LossInput& batch) {
  const at::NoGradGuard without_gradients;
  SLUICE_ASSIGN(const LossSums sums, LossSumsOfTrials(loss_, batch, {}, at::kDouble));
  SLUICE_TRY(AddHits(batch));
  AddTo(sums_, sums.sums);
  AddTo(counts_, sums.counts.to(sums.sums.device()));
  return {};
}

std::vector<Measured> Metrics::Results() const {
  std::vector<Measured> results(static_cast<std::size_t>(trials_));
  const std::vector<double> sums = ReadNumbers(sums_);
  const std::vector<double> counts = ReadNumbers(counts_);
  const std::vector<double> hits = ReadNumbers(hits_);
  const std::vector<double> hits5 = ReadNumbers(hits5_);
  for (std::size_t trial = 0; trial < results.size(); ++trial) {
    if (sums.empty()) continue;
    auto& [values, notes] = results[trial];
    const double loss = values["loss"] = sums[trial] / counts[trial];
    if (!hits.empty()) values["accuracy"] = hits[trial] / counts[trial];
    if (!hits5.empty()) values["top5"] = hits5[trial] / counts[trial];
    if (!IsOfClasses(loss_)) continue;
    values["perplexity"] = std::exp(loss);
    if (std::isinf(values["perplexity"]) && std::isfinite(loss)) {
      notes.push_back(
          fmt::format("the perplexity is infinite: e to the loss of {:.6g} is too large for a "
                      "number",
                      loss));
    }
  }
  return results;
}

}  // namespace sluice::train
