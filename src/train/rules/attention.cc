#include <cmath>
#include <limits>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// Scores that a mask forbids: below all others.
at::Tensor Forbidding(const at::Tensor& allowed, const at::TensorOptions& options) {
  return at::zeros(allowed.sizes(), options)
      .masked_fill(allowed.logical_not(), -std::numeric_limits<double>::infinity());
}

// [F, B, H, T, D] as [F * B, H, T, D]; an operand without a batch has the trials as one.
at::Tensor Folded(const Value& value, std::int64_t rank, std::int64_t trials) {
  const at::Tensor tensor = At(value, 0, trials);
  if (rank == 3) return tensor;
  return tensor.flatten(0, rank - 3);
}

// As PyTorch defines it, with dropout of the weights by draws of each trial. In lower precision its
// operands and its result are rounded, and nothing between them.
Value AttentionWithDropout(const Call& call, const Rates& rates) {
  const std::int64_t trials = call.trials();
  const at::Tensor& given = call.Tensor(0).tensor;
  const at::ScalarType type = AutocastType(given).value_or(given.scalar_type());
  const bool lower = IsLower(type);
  const WithoutAutocast guard(given);
  const auto operand = [&](const at::Tensor& tensor) {
    return lower ? tensor.to(type).to(at::kFloat) : tensor;
  };
  const at::Tensor query = operand(At(call.Tensor(0), 0, trials));
  const auto heads = [&](int place) {
    const at::Tensor tensor = operand(At(call.Tensor(place), 0, trials));
    if (!call.Flag(7) || tensor.size(-3) == query.size(-3)) return tensor;
    TORCH_CHECK(tensor.size(-3) > 0, "expected heads to share, found none");
    return tensor.repeat_interleave(query.size(-3) / tensor.size(-3), -3);
  };
  const at::Tensor key = heads(1);
  const at::Tensor value = heads(2);
  const double scale =
      call.Has(6) ? call.Real(6) : 1.0 / std::sqrt(static_cast<double>(query.size(-1)));
  at::Tensor scores = at::matmul(query * scale, key.transpose(-2, -1));
  if (call.Flag(5)) {
    const at::Tensor allowed =
        at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).tril();
    scores = scores + Forbidding(allowed, scores.options());
  }
  if (call.Has(3)) {
    const Value& mask = call.Tensor(3);
    const at::Tensor tensor = InFront(mask, query.dim() - 1);
    scores = scores + (tensor.scalar_type() == at::kBool ? Forbidding(tensor, scores.options())
                                                         : operand(tensor));
  }
  // Where a mask forbids all keys of a query, PyTorch gives 0.
  at::Tensor weights = call.Has(3) ? at::_safe_softmax(scores, -1) : at::softmax(scores, -1);
  if (!AllZero(rates)) {
    const Sizes sizes(weights.sizes().begin() + 1, weights.sizes().end());
    weights = weights * DropoutMask(call, sizes, rates, weights.options());
  }
  const at::Tensor y = at::matmul(weights, value);
  return Stacked(lower ? y.to(type) : y);
}

}  // namespace

Action Attention(const Signature& signature) {
  if (signature.operands.size() != 8) return {};
  return [](Call& call) {
    // Also if all trials of this run drop nothing: a trial computes alike in every bundle.
    if (call.Real(4) > 0)
      return call.Return(AttentionWithDropout(call, RatesOf(call, call.Real(4))));
    if (!call.AnyStacked()) return call.Loop();
    const Value& query = call.Tensor(0);
    const Value& mask = call.Tensor(3);
    const std::int64_t rank = query.rank();
    if (rank < 3 || call.Tensor(1).rank() != rank || call.Tensor(2).rank() != rank)
      return call.Loop();
    const std::int64_t trials = call.trials();
    auto& stack = call.BoxedAll();
    for (const int place : {0, 1, 2}) stack[place] = Folded(call.Tensor(place), rank, trials);
    if (mask.tensor.defined() && (mask.stacked() || mask.rank() > 2)) {
      // What the mask leaves to broadcasting in the batch is written out.
      at::Tensor own = At(mask, 0, trials);
      while (own.dim() < rank + 1) own = own.unsqueeze(1);
      Sizes sizes(own.sizes().begin(), own.sizes().end());
      for (std::int64_t dim = 1; dim + 3 <= rank; ++dim) sizes[dim] = query.size(dim - 1);
      own = own.expand(sizes);
      stack[3] = rank == 3 ? own : own.flatten(0, rank - 3);
    }
    call.Invoke(stack);
    const at::Tensor y = std::move(stack[0]).toTensor();
    if (rank == 3) return call.Return(Stacked(y));
    Sizes batch = {trials};
    for (std::int64_t dim = 0; dim + 3 < rank; ++dim) batch.push_back(query.size(dim));
    call.Return(Stacked(y.unflatten(0, batch)));
  };
}

}  // namespace sluice::train
