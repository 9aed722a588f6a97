#include "train/measure/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/loss.h"
#include "train/failure.h"
#include "train/measure/class_rows.h"

namespace sluice::train {
namespace {

using Type = std::optional<at::ScalarType>;

using LossRow = std::pair<std::string_view, LossKind>;

constexpr LossRow kLossNames[] = {
    {"returned", LossKind::kReturned},
    {"cross_entropy", LossKind::kCrossEntropy},
    {"nll", LossKind::kNll},
    {"binary_cross_entropy", LossKind::kBinaryCrossEntropy},
    {"mse", LossKind::kMse},
    {"l1", LossKind::kL1},
    {"smooth_l1", LossKind::kSmoothL1},
};

std::string_view LossName(LossKind kind) {
  return std::ranges::find(kLossNames, kind, &LossRow::second)->first;
}

at::Tensor SumOfRows(const at::Tensor& each, Type type) {
  return each.flatten(1).sum(at::IntArrayRef{1}, false, type);
}

// The sum over the rows of the mean over all classes, which label smoothing mixes in.
at::Tensor SmoothSums(const at::Tensor& logs, const Value& classes, Type type) {
  at::Tensor each = -logs.sum(at::IntArrayRef{-1});
  if (classes.tensor.defined()) each = each.masked_fill(classes.tensor == kIgnoredClass, 0);
  return SumOfRows(each, type) / static_cast<double>(logs.size(-1));
}

// A trial without smoothing is computed as if no trial had any: 0 times an infinite logarithm
// would be NaN.
at::Tensor Smoothed(const at::Tensor& plain, const at::Tensor& logs, const Value& classes,
                    std::span<const double> smoothing, Type type) {
  std::vector<std::int64_t> smooth;
  std::vector<double> parts;
  for (std::size_t trial = 0; trial < smoothing.size(); ++trial) {
    if (smoothing[trial] == 0) continue;
    smooth.push_back(static_cast<std::int64_t>(trial));
    parts.push_back(smoothing[trial]);
  }
  if (smooth.empty()) return plain;
  const auto part = at::tensor(parts, at::kDouble).to(plain.options());
  if (smooth.size() == smoothing.size())
    return (1 - part) * plain + part * SmoothSums(logs, classes, type);
  const auto which = at::tensor(smooth, at::kLong).to(plain.device());
  const Value own = classes.stacked() ? Stacked(classes.tensor.index_select(0, which)) : classes;
  const at::Tensor mixed = (1 - part) * plain.index_select(0, which) +
                           part * SmoothSums(logs.index_select(0, which), own, type);
  return plain.index_copy(0, which, mixed);
}

Result<LossSums> ClassSums(LossKind kind, const LossInput& input, std::span<const double> smoothing,
                           Type type) {
  SLUICE_ASSIGN(const ClassRows rows, RowsOfClasses(LossName(kind), input));
  const bool scores_are_logs = kind == LossKind::kNll;
  const at::Tensor logs = scores_are_logs ? rows.scores : at::log_softmax(rows.scores, -1);
  const at::Tensor counts = rows.Counts().to(logs.device());
  if (rows.probabilities.defined()) {
    const at::Tensor each = -(logs * rows.probabilities).sum(at::IntArrayRef{-1});
    return LossSums{Smoothed(SumOfRows(each, type), logs, {}, smoothing, type), counts};
  }
  const at::Tensor classes = At(rows.classes, 0, rows.trials());
  const at::Tensor each =
      at::nll_loss(logs.flatten(0, 1), classes.flatten(), {}, at::Reduction::None, kIgnoredClass)
          .view({rows.trials(), -1});
  return LossSums{Smoothed(SumOfRows(each, type), logs, rows.classes, smoothing, type), counts};
}

bool EqualButForOnes(const Sizes& a, const Sizes& b) {
  const auto without_ones = [](const Sizes& sizes) {
    std::vector<std::int64_t> left;
    std::ranges::copy_if(sizes, std::back_inserter(left), [](auto size) { return size != 1; });
    return left;
  };
  return without_ones(a) == without_ones(b);
}

Result<LossSums> ElementSums(LossKind kind, const LossInput& input, Type type) {
  const Sizes sizes = input.output.sizes();
  if (!EqualButForOnes(sizes, input.target.sizes())) {
    const std::string found = SizesText(input.target);
    return InvalidArgument(fmt::format("{}: expected targets {}, as the output, found {}",
                                       LossName(kind), SizesText(input.output), found));
  }
  const at::Tensor x = At(input.output, 0, input.trials);
  const at::Tensor target = At(Reshaped(input.target, sizes), 0, input.trials).to(x.scalar_type());
  at::Tensor each;
  switch (kind) {
    case LossKind::kBinaryCrossEntropy:
      each = at::binary_cross_entropy_with_logits(x, target, {}, {}, at::Reduction::None);
      break;
    case LossKind::kMse: each = at::mse_loss(x, target, at::Reduction::None); break;
    case LossKind::kL1: each = at::l1_loss(x, target, at::Reduction::None); break;
    default: each = at::smooth_l1_loss(x, target, at::Reduction::None); break;
  }
  const at::Tensor counts = at::scalar_tensor(each.numel() / input.trials, at::kLong);
  return LossSums{SumOfRows(each.reshape({input.trials, -1}), type), counts};
}

Result<LossSums> ReturnedSums(const LossInput& input, Type type) {
  const at::Tensor each = At(input.output, 0, input.trials);
  if (each.numel() != input.trials) {
    return InvalidArgument(
        fmt::format("expected a network that returns its loss, found {}", SizesText(input.output)));
  }
  const at::Tensor own = each.reshape({input.trials});
  const auto examples = at::scalar_tensor(input.examples, at::kLong);
  return LossSums{(type ? own.to(*type) : own) * input.examples, examples};
}

}  // namespace

Result<LossKind> LossKindOf(std::string_view name) {
  const auto* found = std::ranges::find(kLossNames, name, &LossRow::first);
  if (found != std::end(kLossNames)) return found->second;
  const std::span<const std::string> names = model::Losses();
  return InvalidArgument(fmt::format("expected a loss, one of {}, found '{}'{}", Join(names),
                                     Shown(name), DidYouMean(name, names)));
}

Result<LossSums> LossSumsOfTrials(LossKind kind, const LossInput& input,
                                  std::span<const double> smoothing, Type type) {
  if (kind != LossKind::kReturned && !input.target.tensor.defined())
    return InvalidArgument(fmt::format("{}: expected targets, found none", LossName(kind)));
  LossInput wide = input;
  const at::ScalarType own = input.output.tensor.scalar_type();
  if (own == at::kBFloat16 || own == at::kHalf)
    wide.output.tensor = wide.output.tensor.to(at::kFloat);
  try {
    switch (kind) {
      case LossKind::kReturned: return ReturnedSums(wide, type);
      case LossKind::kCrossEntropy:
      case LossKind::kNll: return ClassSums(kind, wide, smoothing, type);
      default: return ElementSums(kind, wide, type);
    }
  } catch (const std::exception& error) {
    return FailureOf(error, fmt::format("{} of an output {} and targets {}", LossName(kind),
                                        SizesText(input.output), SizesText(input.target)));
  }
}

Result<at::Tensor> LossOfTrials(LossKind kind, const LossInput& input,
                                std::span<const double> smoothing) {
  if (kind == LossKind::kReturned) {
    LossInput once = input;
    once.examples = 1;  // its mean is the loss itself, to the last bit
    SLUICE_ASSIGN(const LossSums sums, LossSumsOfTrials(kind, once));
    return sums.sums;
  }
  SLUICE_ASSIGN(const LossSums sums, LossSumsOfTrials(kind, input, smoothing));
  return sums.sums / sums.counts;
}

}  // namespace sluice::train
