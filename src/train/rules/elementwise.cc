#include <algorithm>
#include <string>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// A tensor without dimensions yields to the types of others; with one for the trials it would not.
bool TypesWouldChange(at::ArrayRef<const Value*> values) {
  std::optional<at::ScalarType> type;
  bool same = true;
  bool point = false;
  for (const Value* value : values) {
    if (!value->tensor.defined()) continue;
    if (value->tensor.unsafeGetTensorImpl()->is_wrapped_number()) continue;
    same = same && (!type || *type == value->tensor.scalar_type());
    type = value->tensor.scalar_type();
    point = point || (value->stacked() && value->rank() == 0);
  }
  return point && !same;
}

// Of the operands in these places: the arguments to call the operator with, and where the trials
// are in the result. Empty if it must run trial by trial.
struct JoinedCall {
  std::vector<c10::IValue>& stack;
  std::int64_t trailing = 0;
};
std::optional<JoinedCall> Aligning(const Call& call, const std::vector<int>& places) {
  c10::SmallVector<const Value*, 4> values;
  for (const int place : places) values.push_back(&call.Tensor(place));
  if (TypesWouldChange(values)) return std::nullopt;
  Aligned aligned = Align(values);
  JoinedCall joined{call.BoxedAll(), aligned.trailing};
  for (std::size_t i = 0; i < places.size(); ++i)
    if (aligned.tensors[i].defined()) joined.stack[places[i]] = std::move(aligned.tensors[i]);
  return joined;
}

at::Tensor OnlyResult(std::vector<c10::IValue>& stack) { return std::move(stack[0]).toTensor(); }

}  // namespace

Action Elementwise(const Signature& signature) {
  const std::string& name = signature.schema.name();
  if (signature.schema.returns().size() != 1 ||
      signature.schema.returns()[0].type()->kind() != c10::TypeKind::TensorType)
    return {};
  std::vector<int> tensors = signature.Tensors();
  // The other operand only tells the type.
  if (name == "aten::to" || name == "aten::type_as") tensors.resize(1);
  return Direct(signature, [places = std::move(tensors)](Call& call) {
    if (places.size() == 1) {
      const Value& only = call.Tensor(places[0]);
      auto& stack = call.BoxedAll();
      const std::int64_t axis = only.axis;
      call.Invoke(stack);
      return call.Return(Stacked(OnlyResult(stack), axis));
    }
    auto joined = Aligning(call, places);
    if (!joined) return call.Loop();
    call.Invoke(joined->stack);
    at::Tensor result = OnlyResult(joined->stack);
    const std::int64_t axis = result.dim() - joined->trailing - 1;
    call.Return(Stacked(std::move(result), axis));
  });
}

Value Reduced(const Value& value, Reduction reduction) {
  if (reduction == Reduction::kNone) return value;
  if (value.rank() == 0) return value;
  Sizes dims;
  for (std::int64_t dim = 0; dim < value.tensor.dim(); ++dim)
    if (dim != value.axis) dims.push_back(dim);
  at::Tensor result =
      reduction == Reduction::kMean ? at::mean(value.tensor, dims) : at::sum(value.tensor, dims);
  return value.stacked() ? Stacked(std::move(result)) : Shared(std::move(result));
}

Action ElementwiseLoss(const Signature& signature) {
  const int reduction = signature.Place("reduction");
  if (reduction < 0 || signature.Place("target") != 1) return {};
  return [places = signature.Tensors(), reduction](Call& call) {
    auto joined = Aligning(call, places);
    if (!joined) return call.Loop();
    // Some losses do not let their first operand be the smaller.
    auto& stack = joined->stack;
    auto pair = at::broadcast_tensors({stack[0].toTensor(), stack[1].toTensor()});
    stack[0] = std::move(pair[0]);
    stack[1] = std::move(pair[1]);
    joined->stack[reduction] = static_cast<std::int64_t>(Reduction::kNone);
    call.Invoke(joined->stack);
    at::Tensor result = OnlyResult(joined->stack);
    const std::int64_t axis = result.dim() - joined->trailing - 1;
    call.Return(
        Reduced(Stacked(std::move(result), axis), static_cast<Reduction>(call.Integer(reduction))));
  };
}

Action LikeShared(const Signature& signature) {
  return [place = signature.Tensors().front()](Call& call) {
    auto& stack = call.BoxedAll();
    stack[place] = OfTrial(call.Tensor(place), 0);
    call.Invoke(stack);
    call.Return(Shared(OnlyResult(stack)));
  };
}

Action Copy(const Signature& signature) {
  if (signature.Tensors().size() < 2) return Elementwise(signature);
  return [](Call& call) {
    const Value& to = call.Tensor(0);
    const Value& from = call.Tensor(1);
    Sizes sizes = to.sizes();
    if (from.stacked()) sizes.insert(sizes.begin(), call.trials());
    at::Tensor y = InFront(from, to.rank()).expand(sizes).to(to.tensor.options());
    call.Return(from.stacked() ? Stacked(std::move(y)) : Shared(std::move(y)));
  };
}

Action Prelu(const Signature&) {
  return [](Call& call) {
    Value x = call.Tensor(0);
    Value slope = call.Tensor(1);
    if (const auto lower = AutocastType(x.tensor)) {
      x.tensor = x.tensor.to(*lower);
      slope.tensor = slope.tensor.to(*lower);
    }
    // Channels are the second of the dimensions.
    Sizes sizes(std::max<std::int64_t>(x.rank() - 1, 1), 1);
    sizes[0] = -1;
    slope = Reshaped(slope, sizes);
    const Aligned both = Align({&x, &slope});
    at::Tensor y =
        at::where(both.tensors[0] > 0, both.tensors[0], both.tensors[0] * both.tensors[1]);
    const std::int64_t axis = y.dim() - both.trailing - 1;
    call.Return(Stacked(std::move(y), axis));
  };
}

}  // namespace sluice::train
