#include "train/fallback/vmap.h"

#include <utility>

#if __has_include( \
    <ATen/functorch/BatchedTensorImpl.h>) && __has_include(<ATen/functorch/DynamicLayer.h>)
#include <ATen/functorch/BatchedFallback.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#define SLUICE_HAS_FUNCTORCH 1
#endif

namespace sluice::train {

#ifdef SLUICE_HAS_FUNCTORCH

namespace functorch = at::functorch;

bool Vmap::IsThere() { return true; }

Vmap::Vmap(std::int64_t trials) {
  // Without a rule of its own vmap would loop over the trials itself, and warn.
  functorch::setVmapFallbackEnabled(false);
  level_ = functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap, c10::SymInt(trials),
                                              functorch::RandomnessType::Error);
}

Vmap::~Vmap() { functorch::popDynamicLayerAndDeleteMetadata(); }

at::Tensor Vmap::In(const Value& value) const {
  return value.stacked() ? functorch::makeBatched(value.tensor, value.axis, level_) : value.tensor;
}

Value Vmap::Out(const at::Tensor& tensor) const {
  if (!tensor.defined()) return {};
  const auto* batched = functorch::maybeGetBatchedImpl(tensor);
  if (!batched || batched->level() != level_) return Shared(tensor);
  return Stacked(batched->value(), batched->bdim());
}

#else

bool Vmap::IsThere() { return false; }
Vmap::Vmap(std::int64_t) { TORCH_CHECK(false, "this build is without functorch"); }
Vmap::~Vmap() = default;
at::Tensor Vmap::In(const Value& value) const { return value.tensor; }
Value Vmap::Out(const at::Tensor& tensor) const { return Shared(tensor); }

#endif

}  // namespace sluice::train
