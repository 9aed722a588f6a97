#pragma once

#include "model/analyse/step.h"

namespace sluice::model {

// The rules of operators, by what they do with shapes. The table in rules.cc says which operator
// has which rule. A rule reads the arguments of its node through `step`, and states three things
// through `inference`: the shapes of the outputs, which dimensions are the same, and which are
// fixed. Numbers among the arguments that are sizes are read as sizes (Step::Sizes) or tied to a
// size (Inference::TieToSize).

// rules_elementwise.cc
void LikeFirst(const Step& step, Inference& inference);  // the shape of the first argument
void Together(const Step& step, Inference& inference);   // all tensors, broadcast
void BroadcastTensors(const Step& step,
                      Inference& inference);  // like Together(), with an output for each tensor
// The shape of the first argument. The dimension that the operator works along, such as that of a
// softmax, is fixed.
void LikeFirstAlongFixed(const Step& step, Inference& inference);
void Prelu(const Step& step, Inference& inference);
void NoOutput(const Step& step, Inference& inference);

// rules_shape.cc
void View(const Step& step, Inference& inference);
void ViewAs(const Step& step, Inference& inference);
void Flatten(const Step& step, Inference& inference);
void Unflatten(const Step& step, Inference& inference);
void Squeeze(const Step& step, Inference& inference);
void Unsqueeze(const Step& step, Inference& inference);
void Transpose(const Step& step, Inference& inference);
void Permute(const Step& step, Inference& inference);
void MatrixTranspose(const Step& step, Inference& inference);
void Expand(const Step& step, Inference& inference);
void ExpandAs(const Step& step, Inference& inference);
void Repeat(const Step& step, Inference& inference);
void RepeatInterleave(const Step& step, Inference& inference);
void PixelShuffle(const Step& step, Inference& inference);
void PixelUnshuffle(const Step& step, Inference& inference);

// rules_parts.cc
void Chunk(const Step& step, Inference& inference);
void Split(const Step& step, Inference& inference);
void SplitWithSizes(const Step& step, Inference& inference);
void Unbind(const Step& step, Inference& inference);
void Glu(const Step& step, Inference& inference);
void Select(const Step& step, Inference& inference);
void Slice(const Step& step, Inference& inference);
void Narrow(const Step& step, Inference& inference);
void Cat(const Step& step, Inference& inference);
void Stack(const Step& step, Inference& inference);
void Pad(const Step& step, Inference& inference);
void IndexTensor(const Step& step, Inference& inference);
void Gather(const Step& step, Inference& inference);
void IndexSelect(const Step& step, Inference& inference);
void Diff(const Step& step, Inference& inference);

// rules_linear.cc
void Linear(const Step& step, Inference& inference);
void Matmul(const Step& step, Inference& inference);
void Addmm(const Step& step, Inference& inference);
void Dot(const Step& step, Inference& inference);
void Outer(const Step& step, Inference& inference);
void Bilinear(const Step& step, Inference& inference);
void Attention(const Step& step, Inference& inference);
void Embedding(const Step& step, Inference& inference);
void EmbeddingBag(const Step& step, Inference& inference);

// rules_einsum.cc
void Einsum(const Step& step, Inference& inference);

// rules_convolution.cc
void Convolution(const Step& step, Inference& inference);
void TransposedConvolution(const Step& step, Inference& inference);
void Pool(const Step& step, Inference& inference);
void AdaptivePool(const Step& step, Inference& inference);
void Upsample(const Step& step, Inference& inference);
void Im2col(const Step& step, Inference& inference);
void Col2im(const Step& step, Inference& inference);

// rules_norm.cc
void BatchNorm(const Step& step, Inference& inference);
void LayerNorm(const Step& step, Inference& inference);
void GroupNorm(const Step& step, Inference& inference);
void WeightNorm(const Step& step, Inference& inference);

// rules_reduce.cc
void Reduce(const Step& step, Inference& inference);  // along axes, or along all
// Like Reduce(), with a second output for the index, as for max.
void ReduceWithIndex(const Step& step, Inference& inference);
void TopK(const Step& step, Inference& inference);
void CosineSimilarity(const Step& step, Inference& inference);
void Loss(const Step& step, Inference& inference);
void CrossEntropy(const Step& step, Inference& inference);

// rules_recurrent.cc
void Recurrent(const Step& step, Inference& inference);      // lstm, gru, rnn_tanh, rnn_relu
void RecurrentCell(const Step& step, Inference& inference);  // a single step of these

// rules_make.cc
void Make(const Step& step, Inference& inference);  // zeros, full, rand of a size
void Arange(const Step& step, Inference& inference);
void Linspace(const Step& step, Inference& inference);
void Eye(const Step& step, Inference& inference);
void Scalar(const Step& step, Inference& inference);
void OneHot(const Step& step, Inference& inference);
void SymbolicSize(const Step& step, Inference& inference);
void SymbolicNumel(const Step& step, Inference& inference);
void SymbolicTimes(const Step& step, Inference& inference);
void SymbolicPlus(const Step& step, Inference& inference);
void SymbolicOther(const Step& step, Inference& inference);

// `op` is a name that OperatorOf() returns. FindRule() returns null if the operator has no rule.
using Rule = void (*)(const Step&, Inference&);
Rule FindRule(std::string_view op);

}  // namespace sluice::model
