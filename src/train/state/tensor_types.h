#pragma once

#include <optional>

#include "data/tensors/tensor_type.h"
#include "model/dtype.h"
#include "train/torch.h"

namespace sluice::train {

// PyTorch's type for the elements of a graph's tensor, where `real` stands for float32: a float64
// run computes in float64 what the graph states in float32.
at::ScalarType ScalarTypeOf(model::DType dtype, at::ScalarType real);

at::ScalarType ScalarTypeOf(data::DType dtype);
// Nothing for a type that files of tensors lack, such as complex numbers.
std::optional<data::DType> StoredTypeOf(at::ScalarType type);

}  // namespace sluice::train
