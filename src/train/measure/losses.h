#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "train/value.h"

namespace sluice::train {

// The losses that training can minimise (model/loss.h), each with the mean that PyTorch's function
// of the same name takes by default.
enum class LossKind : std::uint8_t {
  kReturned,
  kCrossEntropy,
  kNll,
  kBinaryCrossEntropy,  // of logits
  kMse,
  kL1,
  kSmoothL1,
};
// Fails with invalid_argument if there is no such loss.
Result<LossKind> LossKindOf(std::string_view name);

// Of targets that are classes: such rows count in no mean, as in PyTorch.
inline constexpr std::int64_t kIgnoredClass = -100;

// What a loss is computed from, for one batch.
struct LossInput {
  Value output;  // the network's first
  Value target;  // of a loss that the network returns: not looked at
  std::int64_t trials = 1;
  std::int64_t examples = 0;  // of the batch, for the mean of a loss that the network returns
};

// The loss of each trial, [trials]. Gradients of its sum are those of each trial's loss alone. A
// reduced precision is widened to float32 first.
//
// cross_entropy and nll take whole numbers as classes. Which dimension of an output counts them:
//   [B, C], targets [B]               the only one there is
//   [B, ..., C], targets [B, ...]     the last: what language models return
//   [B, C, ...], targets [B, ...]     the second, as in PyTorch
// If sizes allow both, it is the last. Targets may have more dimensions than an output [N, C], if
// they have N elements: rows are in the order of the targets. cross_entropy also takes real numbers
// of the output's sizes: the probability of each class, which the second dimension counts. The
// other losses take targets of the output's sizes, or of sizes that differ by ones alone.
//
// `smoothing` is the label smoothing of each trial, of cross_entropy; empty: none. Fails with
// invalid_argument if sizes or types do not fit, or a class is out of range.
Result<at::Tensor> LossOfTrials(LossKind kind, const LossInput& input,
                                std::span<const double> smoothing = {});

// The same as the sum of each trial, [trials], and what it is divided by, [] or [trials]. `type`
// is that in which numbers are added up; nothing: their own.
struct LossSums {
  at::Tensor sums;
  at::Tensor counts;
};
Result<LossSums> LossSumsOfTrials(LossKind kind, const LossInput& input,
                                  std::span<const double> smoothing = {},
                                  std::optional<at::ScalarType> type = std::nullopt);

}  // namespace sluice::train
