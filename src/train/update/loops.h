#pragma once

#include <cstdint>

namespace sluice::train {

// The optimizers' loops over the elements of one trial's part of a tensor: one pass that reads and
// writes each array once. Real is float or double. Each element is computed on its own, in the
// order of operations of PyTorch's single-tensor optimizers, and without fused multiply-adds; so
// the results depend neither on how many elements there are nor on the machine.

// The numbers of a trial's step, for one tensor. They become Real before they are used.
struct SgdStep {
  double clip = 1;      // multiplies the gradient
  double decay = 0;     // times the weight, is added to the gradient
  double momentum = 0;  // 0: the moment is neither read nor written
  double kept = 1;      // multiplies the gradient on its way into the moment
  double rate = 0;
  bool nesterov = false;
  bool first = false;  // the moment is not read: it becomes the gradient
};
template <typename Real>
void SgdLoop(const SgdStep& step, std::int64_t count, Real* weight, const Real* gradient,
             Real* moment);

struct AdamStep {
  double clip = 1;
  double decay = 0;   // of Adam: as for SGD
  double shrink = 1;  // of AdamW: multiplies the weight before all else
  double kept1 = 0;   // 1 - beta1
  double beta2 = 0;
  double kept2 = 0;  // 1 - beta2
  double rate = 0;   // divided by the correction of the first moment's bias
  double root = 1;   // the root of the correction of the second moment's bias
  double eps = 0;
  bool first = false;  // the moments are not read: they count as 0
};
template <typename Real>
void AdamLoop(const AdamStep& step, std::int64_t count, Real* weight, const Real* gradient,
              Real* moment1, Real* moment2);

// In float64, whatever Real is, and in an order that depends on `count` alone.
template <typename Real>
double SumOfSquares(std::int64_t count, const Real* numbers);

}  // namespace sluice::train
