#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// The dimensions of a tensor that a reduction goes over.
Sizes ReducedDims(const Call& call, const Value& x, int dim) {
  Sizes dims;
  if (dim >= 0 && call.Has(dim))
    for (const std::int64_t each : call.Integers(dim)) dims.push_back(x.Physical(each));
  if (dims.empty())
    for (std::int64_t each = 0; each < x.tensor.dim(); ++each)
      if (each != x.axis) dims.push_back(each);
  return dims;
}

std::int64_t AxisBehind(const Sizes& reduced, bool kept, std::int64_t axis) {
  if (kept) return axis;
  std::int64_t left = axis;
  for (const std::int64_t dim : reduced)
    if (dim < axis) --left;
  return left;
}

// The whole of a tensor, by the operator that takes dimensions.
Action ReduceAll(at::Tensor (*reduce)(const at::Tensor&, at::OptionalIntArrayRef, bool,
                                      std::optional<at::ScalarType>),
                 int type) {
  return [reduce, type](Call& call) {
    const Value& x = call.Tensor(0);
    if (x.rank() == 0) return call.Loop();
    const Sizes dims = ReducedDims(call, x, -1);
    call.Return(Stacked(
        reduce(x.tensor, at::IntArrayRef(dims), false, type < 0 ? std::nullopt : call.Type(type))));
  };
}

}  // namespace

Action Reduce(const Signature& signature) {
  const int dim = signature.Place("dim");
  const int keep = signature.Place("keepdim");
  const int type = signature.Place("dtype");
  if (signature.Tensors().size() != 1) return {};
  const std::string& name = signature.schema.name();
  if (dim < 0) {
    if (name == "aten::sum")
      return ReduceAll([](const at::Tensor& x, at::OptionalIntArrayRef dims, bool kept,
                          std::optional<at::ScalarType> as) { return at::sum(x, dims, kept, as); },
                       type);
    if (name == "aten::mean")
      return ReduceAll([](const at::Tensor& x, at::OptionalIntArrayRef dims, bool kept,
                          std::optional<at::ScalarType> as) { return at::mean(x, dims, kept, as); },
                       type);
    return {};
  }
  if (signature.schema.arguments()[dim].type()->kind() == c10::TypeKind::StringType) return {};
  const bool list = signature.schema.arguments()[dim].type()->str().find('[') != std::string::npos;
  return [dim, keep, list](Call& call) {
    const Value& x = call.Tensor(0);
    // Without a dimension, an operator of one looks at all elements in a row.
    if (x.rank() == 0 || (!list && !call.Has(dim))) return call.Loop();
    const Sizes dims = ReducedDims(call, x, dim);
    auto& stack = call.BoxedAll();
    if (list) {
      stack[dim] = c10::List<std::int64_t>(at::IntArrayRef(dims));
    } else {
      stack[dim] = dims.front();
    }
    const std::int64_t axis = AxisBehind(dims, keep >= 0 && call.Flag(keep), x.axis);
    call.Invoke(stack);
    for (c10::IValue& each : stack) call.Return(Stacked(std::move(each).toTensor(), axis));
  };
}

}  // namespace sluice::train
