#include "train/value.h"

#include <algorithm>
#include <utility>

namespace sluice::train {

Sizes Value::sizes() const {
  Sizes all(tensor.sizes().begin(), tensor.sizes().end());
  if (stacked()) all.erase(all.begin() + axis);
  return all;
}

std::int64_t Value::Physical(std::int64_t dim) const {
  const std::int64_t at = Wrapped(dim, rank());
  return stacked() && at >= axis ? at + 1 : at;
}

Value Shared(at::Tensor tensor) { return {.tensor = std::move(tensor)}; }

Value Stacked(at::Tensor tensor, std::int64_t axis) {
  return {.tensor = std::move(tensor), .axis = axis};
}

Value OfNumber(const at::Scalar& number) { return {.tensor = {}, .number = number}; }

std::int64_t Wrapped(std::int64_t dim, std::int64_t rank) { return c10::maybe_wrap_dim(dim, rank); }

at::Tensor At(const Value& value, std::int64_t axis, std::int64_t trials) {
  if (!value.stacked()) {
    Sizes sizes = value.sizes();
    sizes.insert(sizes.begin() + axis, trials);
    return value.tensor.unsqueeze(axis).expand(sizes);
  }
  return value.axis == axis ? value.tensor : value.tensor.movedim(value.axis, axis);
}

at::Tensor InFront(const Value& value) {
  return value.axis <= 0 ? value.tensor : value.tensor.movedim(value.axis, 0);
}

at::Tensor InFront(const Value& value, std::int64_t rank) {
  at::Tensor tensor = InFront(value);
  if (!value.stacked()) return tensor;
  const std::int64_t missing = rank - value.rank();
  if (missing <= 0) return tensor;
  Sizes sizes(tensor.sizes().begin(), tensor.sizes().end());
  sizes.insert(sizes.begin() + 1, missing, 1);
  return tensor.reshape(sizes);
}

Value Reshaped(const Value& value, at::IntArrayRef sizes) {
  if (!value.stacked()) return Shared(value.tensor.reshape(sizes));
  const std::int64_t trials = value.tensor.size(value.axis);
  Sizes wanted(sizes.begin(), sizes.end());
  const std::int64_t elements = trials == 0 ? 0 : value.tensor.numel() / trials;
  const auto open = std::ranges::find(wanted, -1);
  if (open != wanted.end() && elements != 0) {
    std::int64_t known = 1;
    for (const std::int64_t size : wanted)
      if (size != -1) known *= size;
    TORCH_CHECK(known != 0 && elements % known == 0, "expected sizes for ", elements,
                " elements, found ", sizes);
    *open = elements / known;
  }
  // The trials keep their place if the sizes before them have the same elements as before.
  std::int64_t before = 1;
  for (std::int64_t dim = 0; dim < value.axis; ++dim) before *= value.tensor.size(dim);
  std::int64_t so_far = 1;
  std::size_t place = 0;
  while (place < wanted.size() && so_far < before) so_far *= wanted[place++];
  const bool stays = elements != 0 && so_far == before;
  const std::int64_t axis = stays ? static_cast<std::int64_t>(place) : 0;
  wanted.insert(wanted.begin() + axis, trials);
  // PyTorch's reshape looks at strides first, for longer than a view of a small tensor takes.
  if (stays && value.tensor.is_contiguous()) return Stacked(value.tensor.view(wanted), axis);
  return Stacked((stays ? value.tensor : InFront(value)).reshape(wanted), axis);
}

Aligned Align(at::ArrayRef<const Value*> values) {
  Aligned aligned;
  const Value* leader = nullptr;
  for (const Value* value : values)
    if (value->stacked() &&
        (!leader || value->rank() > leader->rank() ||
         (value->rank() == leader->rank() && value->tensor.numel() > leader->tensor.numel())))
      leader = value;
  const std::int64_t trailing = aligned.trailing = leader ? leader->trailing() : 0;
  for (const Value* value : values) {
    if (!value->tensor.defined() || !leader) {
      aligned.tensors.push_back(value->tensor);
      continue;
    }
    const std::int64_t rank = value->rank();
    if (!value->stacked()) {
      // Dimensions before the trials need one of size 1 where the trials are.
      aligned.tensors.push_back(rank > trailing ? value->tensor.unsqueeze(rank - trailing)
                                                : value->tensor);
    } else if (rank < trailing) {
      aligned.tensors.push_back(InFront(*value, trailing));
    } else {
      aligned.tensors.push_back(At(*value, rank - trailing, 0));
    }
  }
  return aligned;
}

at::Tensor OfTrial(const Value& value, std::int64_t trial) {
  return value.stacked() ? value.tensor.select(value.axis, trial) : value.tensor;
}

}  // namespace sluice::train
