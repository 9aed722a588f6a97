#pragma once

#include <cstdint>
#include <vector>

#include "train/torch.h"

namespace sluice::train {

using Sizes = c10::SmallVector<std::int64_t, 6>;

// A value of a network while it runs for several trials. It is either *shared*, the same for all
// trials, or *stacked*: one of the tensor's dimensions counts the trials. Which one that is depends
// on the operators the value came through, so that each can keep the layout it is fast with.
// Dimensions and sizes are called logical where the dimension of trials is left out: those of one
// trial alone.
//
// A number (a size, a scalar) is always shared.
struct Value {
  static constexpr std::int64_t kShared = -1;

  at::Tensor tensor;  // undefined for a number
  std::int64_t axis = kShared;
  at::Scalar number = {};

  bool stacked() const { return axis != kShared; }
  std::int64_t rank() const { return tensor.dim() - (stacked() ? 1 : 0); }
  std::int64_t size(std::int64_t dim) const { return tensor.size(Physical(dim)); }
  Sizes sizes() const;
  // How many dimensions lie behind that of the trials. Only of stacked values.
  std::int64_t trailing() const { return tensor.dim() - axis - 1; }
  // The tensor's dimension for a logical one, which may count from the end.
  std::int64_t Physical(std::int64_t dim) const;
};

Value Shared(at::Tensor tensor);
Value Stacked(at::Tensor tensor, std::int64_t axis = 0);
Value OfNumber(const at::Scalar& number);

// A logical dimension that may count from the end, counted from the front. Fails as PyTorch does if
// there is no such dimension; a value without dimensions may be asked for its first.
std::int64_t Wrapped(std::int64_t dim, std::int64_t rank);

// The tensor with the trials in this dimension. A shared value is expanded over them.
at::Tensor At(const Value& value, std::int64_t axis, std::int64_t trials);
// The tensor with the trials in front, if the value is stacked; otherwise as it is.
at::Tensor InFront(const Value& value);
// The tensor with the trials in front and so many logical dimensions, new ones of size 1 before the
// others. A shared value is not expanded: it has the dimensions alone, if it needs any.
at::Tensor InFront(const Value& value, std::int64_t rank);

// A value of other logical sizes with the same elements, without a copy where the layout allows it.
Value Reshaped(const Value& value, at::IntArrayRef sizes);

// Tensors of one element-wise operator, so that their dimensions of trials meet: `trailing` of them
// lie behind it. Undefined tensors (numbers, missing operands) stay undefined.
struct Aligned {
  c10::SmallVector<at::Tensor, 4> tensors;
  std::int64_t trailing = 0;  // dimensions behind the trials
};
Aligned Align(at::ArrayRef<const Value*> values);

// What one trial has: a view.
at::Tensor OfTrial(const Value& value, std::int64_t trial);

}  // namespace sluice::train
