#pragma once

#include "model/analyse/step.h"

namespace sluice::model {

// The rules of operators, by what they do with shapes. The table in rules.cc says which operator
// has which rule. A rule states three things: the shapes of the outputs, which dimensions are the
// same, and which are fixed. Numbers among the arguments that are sizes are asked for as sizes
// (Step::Sizes) or tied to a size (Step::TieToSize).

// rules_elementwise.cc
void LikeFirst(Step& step);         // the shape of the first argument
void Together(Step& step);          // all tensors, broadcast
void BroadcastTensors(Step& step);  // the same, with an output for each tensor
// The shape of the first argument, of which the dimension along its axis cannot shrink: softmax.
void LikeFirstAlongFixed(Step& step);
void Prelu(Step& step);
void NoOutput(Step& step);

// rules_shape.cc
void View(Step& step);
void ViewAs(Step& step);
void Flatten(Step& step);
void Unflatten(Step& step);
void Squeeze(Step& step);
void Unsqueeze(Step& step);
void Transpose(Step& step);
void Permute(Step& step);
void MatrixTranspose(Step& step);
void Expand(Step& step);
void ExpandAs(Step& step);
void Repeat(Step& step);
void RepeatInterleave(Step& step);
void PixelShuffle(Step& step);
void PixelUnshuffle(Step& step);

// rules_parts.cc
void Chunk(Step& step);
void Split(Step& step);
void SplitWithSizes(Step& step);
void Unbind(Step& step);
void Glu(Step& step);
void Select(Step& step);
void Slice(Step& step);
void Narrow(Step& step);
void Cat(Step& step);
void Stack(Step& step);
void Pad(Step& step);
void IndexTensor(Step& step);
void Gather(Step& step);
void IndexSelect(Step& step);
void Diff(Step& step);

// rules_linear.cc
void Linear(Step& step);
void Matmul(Step& step);
void Addmm(Step& step);
void Dot(Step& step);
void Outer(Step& step);
void Bilinear(Step& step);
void Attention(Step& step);
void Embedding(Step& step);
void EmbeddingBag(Step& step);

// rules_einsum.cc
void Einsum(Step& step);

// rules_convolution.cc
void Convolution(Step& step);
void TransposedConvolution(Step& step);
void Pool(Step& step);
void AdaptivePool(Step& step);
void Upsample(Step& step);
void Im2col(Step& step);
void Col2im(Step& step);

// rules_norm.cc
void BatchNorm(Step& step);
void LayerNorm(Step& step);
void GroupNorm(Step& step);
void WeightNorm(Step& step);

// rules_reduce.cc
void Reduce(Step& step);           // along axes, or along all
void ReduceWithIndex(Step& step);  // the same, with the index of what was found
void TopK(Step& step);
void CosineSimilarity(Step& step);
void Loss(Step& step);
void CrossEntropy(Step& step);

// rules_recurrent.cc
void Recurrent(Step& step);      // lstm, gru, rnn_tanh, rnn_relu
void RecurrentCell(Step& step);  // a single step of these

// rules_make.cc
void Make(Step& step);  // zeros, full, rand of a size
void Arange(Step& step);
void Linspace(Step& step);
void Eye(Step& step);
void Scalar(Step& step);
void OneHot(Step& step);
void SymbolicSize(Step& step);
void SymbolicNumel(Step& step);
void SymbolicTimes(Step& step);
void SymbolicPlus(Step& step);
void SymbolicOther(Step& step);

// Unifies the two sides of a reshape, and follows the axes of the first argument through it.
void Reshaped(Step& step, const Shape& from, const Shape& to);

}  // namespace sluice::model
