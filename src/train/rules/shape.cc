#include <algorithm>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// A view of stacked values that may move the dimension of trials.
template <typename Of>
Action OfSelf(Of of) {
  return [of](Call& call) { call.Return(of(call, call.Tensor(0))); };
}

Value Swapped(const Value& x, std::int64_t one, std::int64_t other) {
  if (x.rank() == 0) return x;
  return Stacked(x.tensor.transpose(x.Physical(one), x.Physical(other)), x.axis);
}

// Sizes for so many new dimensions in front, with this in the place of the trials.
Sizes WithTrials(const Value& x, Sizes sizes, std::int64_t at_trials) {
  const std::int64_t added = static_cast<std::int64_t>(sizes.size()) - x.rank();
  TORCH_CHECK(added >= 0, "expected at least ", x.rank(), " sizes, found ", sizes.size());
  sizes.insert(sizes.begin() + added + x.axis, at_trials);
  return sizes;
}

Value Expanded(const Value& x, const Sizes& sizes) {
  const std::int64_t added = static_cast<std::int64_t>(sizes.size()) - x.rank();
  return Stacked(x.tensor.expand(WithTrials(x, sizes, -1)), x.axis + added);
}

}  // namespace

Action View(const Signature& signature) {
  const int sizes = std::max(signature.Place("size"), signature.Place("shape"));
  if (sizes < 0) return {};  // a view as another type
  return OfSelf([sizes](Call& call, const Value& x) { return Reshaped(x, call.Integers(sizes)); });
}

Action ViewAs(const Signature&) {
  return [](Call& call) {
    const Sizes sizes = call.Tensor(1).sizes();
    const Value& x = call.Tensor(0);
    call.Return(x.stacked() ? Reshaped(x, sizes) : Shared(x.tensor.reshape(sizes)));
  };
}

Action Flatten(const Signature& signature) {
  if (signature.Place("start_dim") != 1) return {};
  return OfSelf([](Call& call, const Value& x) {
    if (x.rank() == 0) return Reshaped(x, {1});
    const std::int64_t start = Wrapped(call.Integer(1), x.rank());
    const std::int64_t end = Wrapped(call.Integer(2), x.rank());
    TORCH_CHECK(start <= end, "flatten: expected start_dim <= end_dim");
    const Sizes old = x.sizes();
    Sizes sizes(old.begin(), old.begin() + start);
    std::int64_t product = 1;
    for (std::int64_t dim = start; dim <= end; ++dim) product *= old[dim];
    sizes.push_back(product);
    sizes.append(old.begin() + end + 1, old.end());
    return Reshaped(x, sizes);
  });
}

Action Unflatten(const Signature& signature) {
  if (signature.Place("names") >= 0) return {};
  return OfSelf([](Call& call, const Value& x) {
    const std::int64_t dim = x.Physical(call.Integer(1));
    const Sizes parts = call.Integers(2);
    const std::int64_t moved =
        x.axis > dim ? x.axis + static_cast<std::int64_t>(parts.size()) - 1 : x.axis;
    return Stacked(x.tensor.unflatten(dim, parts), moved);
  });
}

Action Unsqueeze(const Signature&) {
  return OfSelf([](Call& call, const Value& x) {
    const std::int64_t dim = Wrapped(call.Integer(1), x.rank() + 1);
    // In front of the trials if it comes before what is behind them.
    const bool behind = dim > x.axis;
    return Stacked(x.tensor.unsqueeze(behind ? dim + 1 : dim), behind ? x.axis : x.axis + 1);
  });
}

Action Squeeze(const Signature& signature) {
  const int place = signature.Place("dim");
  return OfSelf([place](Call& call, const Value& x) {
    std::vector<bool> dropped(x.rank());
    if (place < 0) {
      dropped.assign(x.rank(), true);
    } else {
      for (const std::int64_t dim : call.Integers(place))
        if (x.rank() > 0) dropped[Wrapped(dim, x.rank())] = true;
    }
    at::Tensor tensor = x.tensor;
    std::int64_t axis = x.axis;
    for (std::int64_t dim = x.rank() - 1; dim >= 0; --dim) {
      const std::int64_t at = dim >= x.axis ? dim + 1 : dim;
      if (!dropped[dim] || tensor.size(at) != 1) continue;
      tensor = tensor.squeeze(at);
      if (at < x.axis) --axis;
    }
    return Stacked(std::move(tensor), axis);
  });
}

Action Transpose(const Signature& signature) {
  if (signature.operands.size() != 3 ||
      signature.schema.arguments()[1].type()->kind() != c10::TypeKind::IntType)
    return {};
  return OfSelf(
      [](Call& call, const Value& x) { return Swapped(x, call.Integer(1), call.Integer(2)); });
}

Action MatrixTranspose(const Signature&) {
  return OfSelf([](Call&, const Value& x) { return x.rank() < 2 ? x : Swapped(x, -2, -1); });
}

Action Permute(const Signature&) {
  return OfSelf([](Call& call, const Value& x) {
    Sizes order;
    for (const std::int64_t dim : call.Integers(1)) order.push_back(x.Physical(dim));
    order.insert(order.begin() + x.axis, x.axis);
    return Stacked(x.tensor.permute(order), x.axis);
  });
}

Action Expand(const Signature&) {
  return OfSelf([](Call& call, const Value& x) { return Expanded(x, call.Integers(1)); });
}

Action ExpandAs(const Signature&) {
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const Sizes sizes = call.Tensor(1).sizes();
    call.Return(x.stacked() ? Expanded(x, sizes) : Shared(x.tensor.expand(sizes)));
  };
}

Action BroadcastTensors(const Signature&) {
  return [](Call& call) {
    const Aligned all = Align(call.Tensors(0));
    for (at::Tensor& each : at::broadcast_tensors(all.tensors)) {
      const std::int64_t axis = each.dim() - all.trailing - 1;
      call.Return(Stacked(std::move(each), axis));
    }
  };
}

Action Repeat(const Signature&) {
  return OfSelf([](Call& call, const Value& x) {
    const Sizes repeats = call.Integers(1);
    const std::int64_t added = static_cast<std::int64_t>(repeats.size()) - x.rank();
    return Stacked(x.tensor.repeat(WithTrials(x, repeats, 1)), x.axis + added);
  });
}

}  // namespace sluice::train
