#include "train/measure/class_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice::train {
namespace {

Sizes Without(Sizes sizes, std::size_t dim) {
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return sizes;
}

// The dimension of an output that counts classes, if the targets are classes.
std::optional<std::int64_t> ClassDim(const Sizes& output, const Value& target) {
  if (output.size() < 2) return std::nullopt;
  const Sizes targets = target.sizes();
  const std::size_t last = output.size() - 1;
  if (targets == Without(output, last)) return static_cast<std::int64_t>(last);
  if (targets == Without(output, 1)) return 1;
  std::int64_t elements = 1;
  for (const std::int64_t size : targets) elements *= size;
  if (output.size() == 2 && elements == output[0]) return 1;
  return std::nullopt;
}

std::string Expected(const Sizes& output) {
  if (output.size() < 2) return "an output with a score for each class";
  const Sizes last = Without(output, output.size() - 1);
  const Sizes second = Without(output, 1);
  if (last == second) return fmt::format("targets [{}]", fmt::join(last, ", "));
  return fmt::format("targets [{}] or [{}]", fmt::join(last, ", "), fmt::join(second, ", "));
}

// [trials, N, C]
at::Tensor ScoreRows(const Value& value, std::int64_t dim, std::int64_t trials) {
  const at::Tensor in_front = At(value, 0, trials).movedim(dim + 1, -1);
  return in_front.flatten(1, -2);
}

}  // namespace

std::string SizesText(const Value& value) {
  if (!value.tensor.defined()) return "nothing";
  return fmt::format("[{}]", fmt::join(value.sizes(), ", "));
}

at::Tensor ClassRows::Counts() const {
  if (probabilities.defined()) return at::scalar_tensor(scores.size(1), at::kLong);
  return (classes.tensor != kIgnoredClass).sum(at::IntArrayRef{-1});
}

Result<ClassRows> RowsOfClasses(std::string_view loss, const LossInput& input) {
  const Value& target = input.target;
  const Sizes sizes = input.output.sizes();
  const auto misfit = [&] {
    return InvalidArgument(fmt::format(
        "{}: expected {} for an output {}, found {} {}", loss, Expected(sizes),
        SizesText(input.output), c10::toString(target.tensor.scalar_type()), SizesText(target)));
  };
  if (target.tensor.is_floating_point()) {
    if (loss != "cross_entropy" || sizes.size() < 2 || target.sizes() != sizes) return misfit();
    // Sizes do not tell here which dimension counts classes: it is PyTorch's.
    return ClassRows{.scores = ScoreRows(input.output, 1, input.trials),
                     .classes = {},
                     .probabilities = ScoreRows(target, 1, input.trials)};
  }
  if (target.tensor.scalar_type() == at::kBool) return misfit();
  const std::optional<std::int64_t> dim = ClassDim(sizes, target);
  if (!dim) return misfit();
  Value classes = Reshaped(target, {-1});
  classes.tensor =
      classes.stacked() ? InFront(classes).to(at::kLong) : classes.tensor.to(at::kLong);
  if (classes.stacked()) classes.axis = 0;
  return ClassRows{.scores = ScoreRows(input.output, *dim, input.trials),
                   .classes = std::move(classes),
                   .probabilities = {}};
}

}  // namespace sluice::train
