#pragma once

#include <optional>

#include "train/step.h"

namespace sluice::train {

// The rule of an operator, by its name without overload: "aten::conv2d". Null if it has none of its
// own: it is called trial by trial.
Rule RuleOf(std::string_view op);

// Whether an operator draws random numbers, so that trials differ even if its operands are shared.
bool DrawsNumbers(const Signature& signature);

// The type that torch.autocast's list of lower precision means here, if autocast is on. A rule that
// calls other operators than its own must cast as its own would.
std::optional<at::ScalarType> AutocastType(const at::Tensor& like);
// Operators do not cast while this lives.
class WithoutAutocast {
 public:
  explicit WithoutAutocast(const at::Tensor& like);

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
};
// bfloat16 or float16, whose sums PyTorch computes in float32.
bool IsLower(at::ScalarType type);

// Rules that several operators share. An argument is found by its name in the schema.

// direct.cc: without boxed arguments where the signature allows it, otherwise as `general` does
Action Direct(const Signature& signature, Action general);

// elementwise.cc
Action Elementwise(const Signature& signature);      // operands broadcast, the result is like them
Action ElementwiseLoss(const Signature& signature);  // the same with a reduction
Action LikeShared(const Signature& signature);       // takes sizes and type of a tensor: zeros_like
Action Copy(const Signature& signature);             // the second in sizes and type of the first
Action Prelu(const Signature& signature);            // one slope, or one for each channel

// shape.cc
Action View(const Signature& signature);
Action ViewAs(const Signature& signature);
Action Flatten(const Signature& signature);
Action Unflatten(const Signature& signature);
Action Unsqueeze(const Signature& signature);
Action Squeeze(const Signature& signature);
Action Transpose(const Signature& signature);
Action MatrixTranspose(const Signature& signature);
Action Permute(const Signature& signature);
Action Expand(const Signature& signature);
Action ExpandAs(const Signature& signature);
Action BroadcastTensors(const Signature& signature);
Action Repeat(const Signature& signature);

// parts.cc
Action AlongDim(const Signature& signature);  // keeps the dimensions, or splits one: `dim`, `dims`
Action LastDims(const Signature& signature);  // touches the last two dimensions alone
Action Select(const Signature& signature);
Action Unbind(const Signature& signature);
Action Cat(const Signature& signature);
Action Stack(const Signature& signature);
Action Pad(const Signature& signature);

// reduce.cc
Action Reduce(const Signature& signature);  // over `dim`, or all dimensions, with `keepdim`

// linear.cc
// x * weight^T + bias, each of them shared or stacked. The result is stacked if one of them is.
Value LinearOf(const Value& x, const Value& weight, const Value& bias, std::int64_t trials);
Action Linear(const Signature& signature);
Action Matmul(const Signature& signature);
Action AddMatmul(const Signature& signature);
Action AddBatchedMatmul(const Signature& signature);
Action Einsum(const Signature& signature);

// convolution.cc
Action Convolution(const Signature& signature);
Action TransposedConvolution(const Signature& signature);

// norm.cc
Action BatchNorm(const Signature& signature);
Action GroupNorm(const Signature& signature);
Action LayerNorm(const Signature& signature);
Action RmsNorm(const Signature& signature);
Action WeightNorm(const Signature& signature);

// images.cc: the batch is the first of 3, 4, or 5 dimensions, and carries the trials too
Action Images1d(const Signature& signature);
Action Images2d(const Signature& signature);
Action Images3d(const Signature& signature);

// index.cc
Action Embedding(const Signature& signature);
Action Gather(const Signature& signature);
Action IndexSelect(const Signature& signature);
Action Index(const Signature& signature);
Action OneHot(const Signature& signature);

// recurrent.cc
Action Recurrent(const Signature& signature);
Action RecurrentCell(const Signature& signature);

// attention.cc
Action Attention(const Signature& signature);

// losses.cc
Action CrossEntropy(const Signature& signature);

// dropout.cc
Action Dropout(const Signature& signature);
Action FeatureDropout(const Signature& signature);
Action AlphaDropout(const Signature& signature);
Action FeatureAlphaDropout(const Signature& signature);

// The rate of dropout of each trial: what the run says for the node, or else what the graph has.
using Rates = c10::SmallVector<double, 8>;
Rates RatesOf(const Call& call, double in_graph);
bool AllZero(const Rates& rates);
// For one node: a tensor with trials in front and these logical sizes. An element is 0 with the
// rate of its trial, and else what keeps the mean.
at::Tensor DropoutMask(const Call& call, at::IntArrayRef sizes, const Rates& rates,
                       const at::TensorOptions& options);

// random.cc
Action Rand(const Signature& signature);
Action RandNormal(const Signature& signature);
Action Bernoulli(const Signature& signature);
Action Uniform(const Signature& signature);
Action Normal(const Signature& signature);
Action Exponential(const Signature& signature);
Action LogNormal(const Signature& signature);
Action Cauchy(const Signature& signature);
Action Geometric(const Signature& signature);
Action RandomWhole(const Signature& signature);
Action RandomRelu(const Signature& signature);

// The mean or sum of all elements of a trial, as the loss operators count reductions.
enum class Reduction : std::int64_t { kNone = 0, kMean = 1, kSum = 2 };
Value Reduced(const Value& value, Reduction reduction);

}  // namespace sluice::train
