#pragma once

#include <string_view>

#include "train/measure/losses.h"

namespace sluice::train {

// An output that scores classes, and its targets, row by row: N rows in a trial, of C classes.
struct ClassRows {
  at::Tensor scores;         // [trials, N, C]
  Value classes;             // [N] of int64; none if targets are probabilities
  at::Tensor probabilities;  // [trials, N, C]; undefined if targets are classes

  std::int64_t trials() const { return scores.size(0); }
  // Rows that count: [] or [trials].
  at::Tensor Counts() const;
};

// As LossOfTrials says. `loss` is for messages.
Result<ClassRows> RowsOfClasses(std::string_view loss, const LossInput& input);

// Sizes of one trial for messages: "[8, 10]".
std::string SizesText(const Value& value);

}  // namespace sluice::train
