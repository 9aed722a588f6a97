#pragma once

#include "train/update/loops.h"
#include "train/update/optimizer.h"

namespace sluice::train {

// The numbers of a trial's step for a tensor with these factors. `clip` multiplies its gradient.
SgdStep SgdStepOf(const TrialUpdate& trial, bool nesterov, const Factors& factors, double clip);
AdamStep AdamStepOf(recipe::OptimizerKind kind, const TrialUpdate& trial, const Factors& factors,
                    double clip);

// What a gradient is multiplied by, so that the norm of all of them is at most this: PyTorch's
// formula. NaN stays NaN.
double ClipFactor(double norm, double most);

}  // namespace sluice::train
