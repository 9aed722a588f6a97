#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// The first row of each trial in a table of all trials, for indices of this many dimensions.
at::Tensor FirstRows(std::int64_t trials, std::int64_t rows, std::int64_t rank,
                     const at::Tensor& indices) {
  Sizes sizes(rank + 1, 1);
  sizes[0] = trials;
  return at::arange(trials, indices.options()).mul(rows).view(sizes);
}

bool IsMask(const at::Tensor& indices) {
  return indices.scalar_type() == at::kBool || indices.scalar_type() == at::kByte;
}

}  // namespace

// The tables of all trials are one, whose rows are counted through. A row for padding has no
// gradient, in no trial.
Action Embedding(const Signature& signature) {
  const int padding = signature.Place("padding_idx");
  const int by_frequency = signature.Place("scale_grad_by_freq");
  if (padding < 0 || by_frequency < 0 || signature.Tensors().size() != 2) return {};
  return [padding, by_frequency](Call& call) {
    const Value& weight = call.Tensor(0);
    const Value& indices = call.Tensor(1);
    if (call.Flag(by_frequency)) return call.Loop();
    if (!weight.stacked())
      return call.Return(Stacked(
          at::embedding(weight.tensor, indices.tensor, call.Integer(padding)), indices.axis));
    const at::Tensor table = InFront(weight);
    const std::int64_t trials = table.size(0);
    const std::int64_t rows = table.size(1);
    const at::Tensor own = InFront(indices);
    // An index of one trial must not reach into the next trial's table.
    TORCH_CHECK_INDEX(!own.is_cpu() || own.numel() == 0 ||
                          (own.min().item().toLong() >= 0 && own.max().item().toLong() < rows),
                      "expected indices from 0 to ", rows - 1);
    at::Tensor y =
        at::embedding(table.flatten(0, 1), own + FirstRows(trials, rows, indices.rank(), own));
    const std::int64_t padded = call.Integer(padding);
    if (padded >= 0 && y.requires_grad())
      y = at::where((own == padded).unsqueeze(-1), y.detach(), y);
    call.Return(Stacked(std::move(y)));
  };
}

Action Gather(const Signature& signature) {
  if (signature.schema.arguments()[1].type()->kind() != c10::TypeKind::IntType) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const Value& indices = call.Tensor(2);
    if (x.rank() == 0 || x.rank() != indices.rank()) return call.Loop();
    call.Return(Stacked(at::gather(At(x, 0, call.trials()), Wrapped(call.Integer(1), x.rank()) + 1,
                                   At(indices, 0, call.trials()))));
  };
}

Action IndexSelect(const Signature& signature) {
  if (signature.schema.arguments()[1].type()->kind() != c10::TypeKind::IntType) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const Value& indices = call.Tensor(2);
    if (indices.stacked() || x.rank() == 0) return call.Loop();
    call.Return(
        Stacked(at::index_select(x.tensor, x.Physical(call.Integer(1)), indices.tensor), x.axis));
  };
}

// The trials are in front, and no index is for them, so their place in the result follows from
// PyTorch's law: indices side by side stay where they were, others come first.
Action Index(const Signature&) {
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    c10::List<std::optional<at::Tensor>> all;
    all.push_back(std::nullopt);
    std::int64_t first = -1;
    std::int64_t last = -1;
    std::int64_t count = 0;
    std::int64_t rank = 0;
    std::int64_t place = 0;
    for (const Value* each : call.Tensors(1)) {
      if (!each) {
        all.push_back(std::nullopt);
      } else {
        if (each->stacked() || IsMask(each->tensor)) return call.Loop();
        if (first < 0) first = place;
        last = place;
        ++count;
        rank = std::max(rank, each->rank());
        all.push_back(each->tensor);
      }
      ++place;
    }
    const bool side_by_side = last - first + 1 == count;
    at::Tensor y = at::index(InFront(x), all);
    call.Return(Stacked(std::move(y), side_by_side ? 0 : rank));
  };
}

Action OneHot(const Signature&) {
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    if (call.Integer(1) < 0) return call.Loop();
    call.Return(Stacked(at::one_hot(x.tensor, call.Integer(1)), x.axis));
  };
}

}  // namespace sluice::train
