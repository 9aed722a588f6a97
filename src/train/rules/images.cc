#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// Operators that treat each image of a batch for itself: the batch carries the trials too. Where a
// trial has no batch, the trials are one.
Action ImagesOf(const Signature& signature, std::int64_t dims) {
  if (signature.Tensors().size() != 1) return {};
  return [dims](Call& call) {
    const Value& x = call.Tensor(0);
    const bool batched = x.rank() == dims + 2;
    if (!batched && x.rank() != dims + 1) return call.Loop();
    auto& stack = call.BoxedAll();
    const std::int64_t axis = batched && x.axis == 1 ? 1 : 0;
    const at::Tensor tensor = axis == x.axis ? x.tensor : InFront(x);
    stack[0] = batched ? tensor.flatten(0, 1) : tensor;
    call.Invoke(stack);
    for (c10::IValue& each : stack) {
      at::Tensor y = std::move(each).toTensor();
      if (batched) y = y.unflatten(0, {tensor.size(0), tensor.size(1)});
      call.Return(Stacked(std::move(y), axis));
    }
  };
}

}  // namespace

Action Images1d(const Signature& signature) { return ImagesOf(signature, 1); }
Action Images2d(const Signature& signature) { return ImagesOf(signature, 2); }
Action Images3d(const Signature& signature) { return ImagesOf(signature, 3); }

}  // namespace sluice::train
