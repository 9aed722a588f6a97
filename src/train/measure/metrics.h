#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/measure/losses.h"

namespace sluice::train {

// What an evaluation measured of a trial.
struct Measured {
  std::map<std::string, double> values;
  std::vector<std::string> notes;  // what the user should know about a value
};

// Measures trials over several batches, which may differ in size. Sums are kept in float64 on the
// device of the outputs, and are read when the results are asked for.
//
//   loss        the mean over all examples (tokens, elements), as one large batch would give it;
//               of a loss that the network returns, batches count by their examples. Label
//               smoothing is left out, so that trials that differ in it can be compared.
//   accuracy    of cross_entropy and nll: the part of the rows whose class has the highest score,
//               and of equal scores the first. Of binary_cross_entropy: the part of the elements
//               whose logit is on the side of its target. A row that holds NaN is wrong.
//   top5        of cross_entropy and nll with at least five classes
//   perplexity  of cross_entropy and nll: e to the loss. Infinity has a note.
class Metrics {
 public:
  Metrics(LossKind loss, std::int64_t trials) : loss_(loss), trials_(trials) {}

  // Fails with invalid_argument, as LossOfTrials does. Then the batch is not counted.
  Status Add(const LossInput& batch);

  // Of each trial. A mean of nothing is NaN.
  std::vector<Measured> Results() const;

 private:
  void AddTo(at::Tensor& sum, const at::Tensor& numbers) const;
  Status AddHits(const LossInput& batch);

  LossKind loss_;
  std::int64_t trials_;
  // [trials] of float64; undefined: there is no such number
  at::Tensor sums_;
  at::Tensor counts_;
  at::Tensor hits_;
  at::Tensor hits5_;
};

}  // namespace sluice::train
