#include <algorithm>
#include <string>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// All results have the trials where the operand had them.
void ReturnAll(Call& call, std::vector<c10::IValue>& stack, std::int64_t axis) {
  for (c10::IValue& each : stack) {
    if (each.isTensor()) {
      call.Return(Stacked(std::move(each).toTensor(), axis));
    } else {
      for (at::Tensor& tensor : each.toTensorVector())
        call.Return(Stacked(std::move(tensor), axis));
    }
  }
}

// Lists of values, with the trials of all of them in one place, counted from the front.
struct Gathered {
  std::vector<at::Tensor> tensors;
  std::int64_t axis = 0;
};
Gathered Together(const Call& call) {
  const std::vector<const Value*> values = call.Tensors(0);
  const Value* leader = nullptr;
  for (const Value* value : values)
    if (value->stacked() && (!leader || value->tensor.numel() > leader->tensor.numel()))
      leader = value;
  Gathered gathered;
  gathered.axis = leader->axis;
  for (const Value* value : values)
    gathered.tensors.push_back(At(*value, gathered.axis, call.trials()));
  return gathered;
}

// Called as C++ calls them, without boxed arguments: most networks have one.
Action Softmax(const Signature& signature) {
  if (signature.schema.overload_name() != "int" || signature.Place("dtype") != 2) return {};
  using Compute = at::Tensor (*)(const at::Tensor&, std::int64_t, std::optional<at::ScalarType>);
  const std::string& name = signature.schema.name();
  const Compute compute = name == "aten::softmax"       ? static_cast<Compute>(at::softmax)
                          : name == "aten::log_softmax" ? static_cast<Compute>(at::log_softmax)
                                                        : nullptr;
  if (!compute) return {};
  return [compute](Call& call) {
    const Value& x = call.Tensor(0);
    if (x.rank() == 0) return call.Loop();
    call.Return(Stacked(compute(x.tensor, x.Physical(call.Integer(1)), call.Type(2)), x.axis));
  };
}

}  // namespace

Action AlongDim(const Signature& signature) {
  const int one = signature.Place("dim");
  const int many = signature.Place("dims");
  const std::vector<int> tensors = signature.Tensors();
  if ((one < 0) == (many < 0) || tensors.size() != 1) return {};
  if (Action softmax = Softmax(signature)) return softmax;
  return [one, many, self = tensors.front()](Call& call) {
    const Value& x = call.Tensor(self);
    // An empty list of dimensions means what only the operator knows: all of them, in some.
    if (x.rank() == 0 || (many >= 0 && call.Integers(many).empty()) || (one >= 0 && !call.Has(one)))
      return call.Loop();
    auto& stack = call.BoxedAll();
    if (one >= 0) {
      stack[one] = x.Physical(call.Integer(one));
    } else {
      Sizes dims = call.Integers(many);
      for (std::int64_t& dim : dims) dim = x.Physical(dim);
      stack[many] = c10::List<std::int64_t>(at::IntArrayRef(dims));
    }
    const std::int64_t axis = x.axis;
    call.Invoke(stack);
    ReturnAll(call, stack, axis);
  };
}

Action LastDims(const Signature&) {
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    auto& stack = call.BoxedAll();
    const std::int64_t axis = x.trailing() >= 2 ? x.axis : 0;
    if (axis != x.axis) stack[0] = InFront(x);
    call.Invoke(stack);
    ReturnAll(call, stack, axis);
  };
}

Action Select(const Signature& signature) {
  if (signature.Place("index") != 2) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const std::int64_t dim = x.Physical(call.Integer(1));
    call.Return(Stacked(x.tensor.select(dim, call.Integer(2)), dim < x.axis ? x.axis - 1 : x.axis));
  };
}

Action Unbind(const Signature& signature) {
  if (signature.schema.arguments()[1].type()->kind() != c10::TypeKind::IntType) return {};
  return [](Call& call) {
    const Value x = call.Tensor(0);
    const std::int64_t dim = x.Physical(call.Integer(1));
    for (at::Tensor& part : x.tensor.unbind(dim))
      call.Return(Stacked(std::move(part), dim < x.axis ? x.axis - 1 : x.axis));
  };
}

Action Cat(const Signature& signature) {
  if (signature.schema.arguments()[1].type()->kind() != c10::TypeKind::IntType) return {};
  return [](Call& call) {
    const std::vector<const Value*> values = call.Tensors(0);
    const std::int64_t rank = values.front()->rank();
    // An empty list of numbers may stand among tensors of any rank.
    for (const Value* value : values)
      if (value->rank() != rank) return call.Loop();
    const Gathered all = Together(call);
    const std::int64_t dim = Wrapped(call.Integer(1), rank);
    call.Return(Stacked(at::cat(all.tensors, dim >= all.axis ? dim + 1 : dim), all.axis));
  };
}

Action Stack(const Signature&) {
  return [](Call& call) {
    const Gathered all = Together(call);
    const std::int64_t rank = all.tensors.front().dim() - 1;
    const std::int64_t dim = Wrapped(call.Integer(1), rank + 1);
    const bool behind = dim > all.axis;
    call.Return(
        Stacked(at::stack(all.tensors, behind ? dim + 1 : dim), behind ? all.axis : all.axis + 1));
  };
}

// Constants go around any dimensions. Other modes copy from the images of a batch, of 1 to 3
// dimensions, which therefore carries the trials too.
Action Pad(const Signature& signature) {
  const int mode = signature.Place("mode");
  return [mode](Call& call) {
    const Value& x = call.Tensor(0);
    const auto padded = static_cast<std::int64_t>(call.Integers(1).size()) / 2;
    auto& stack = call.BoxedAll();
    if (mode < 0 || call.Text(mode) == "constant") {
      const std::int64_t axis = x.trailing() >= padded ? x.axis : 0;
      if (axis != x.axis) stack[0] = InFront(x);
      call.Invoke(stack);
      return ReturnAll(call, stack, axis);
    }
    if (x.rank() != padded + 2) return call.Loop();
    const std::int64_t axis = x.axis <= 1 ? x.axis : 0;
    const at::Tensor tensor = axis == x.axis ? x.tensor : InFront(x);
    stack[0] = tensor.flatten(0, 1);
    call.Invoke(stack);
    call.Return(Stacked(stack[0].toTensor().unflatten(0, {tensor.size(0), tensor.size(1)}), axis));
  };
}

}  // namespace sluice::train
