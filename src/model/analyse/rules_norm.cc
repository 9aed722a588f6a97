#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

void SameVector(Step& step, std::string_view name, Dim channels) {
  if (!step.Has(name)) return;
  const Shape vector = step.Tensor(name);
  if (vector.size() != 1) step.Fail("expected a vector for each channel");
  if (step.ok()) step.Same(vector[0], channels);
}

}  // namespace

void BatchNorm(Step& step) {
  const Shape shape = step.First();
  if (shape.size() < 2) step.Fail("expected channels as the second dimension");
  if (!step.ok()) return;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    SameVector(step, name, shape[1]);
  step.SetOutput(shape);
}

void LayerNorm(Step& step) {
  const Shape shape = step.First();
  const std::vector<std::optional<Dim>> sizes = step.Sizes("normalized_shape");
  if (sizes.empty() || sizes.size() > shape.size()) step.Fail("expected the last dimensions");
  if (!step.ok()) return;
  const std::size_t first = shape.size() - sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i]) step.Same(shape[first + i], *sizes[i]);
    for (const char* name : {"weight", "bias"}) {
      if (!step.Has(name)) continue;
      const Shape affine = step.Tensor(name);
      if (affine.size() != sizes.size())
        step.Fail("expected an affine part of the same dimensions");
      if (!step.ok()) return;
      step.Same(affine[i], shape[first + i]);
    }
  }
  step.SetOutput(shape);
}

void GroupNorm(Step& step) {
  const Shape shape = step.First();
  if (shape.size() < 2) step.Fail("expected channels as the second dimension");
  const Dim groups = step.Size("num_groups");
  if (!step.ok()) return;
  const std::int64_t count = step.SizeOf(groups);
  if (count < 1 || step.SizeOf(shape[1]) % count != 0) {
    step.Fail("the channels cannot be divided into the groups");
    return;
  }
  const Dim in_one = step.New(step.SizeOf(shape[1]) / count);
  if (step.SizeOf(in_one) > 1) step.dims().Raise(groups, Dims::Rank::kCount);
  const Dim factors[] = {groups, in_one};
  step.Same(shape[1], step.dims().Product(factors));
  SameVector(step, "weight", shape[1]);
  SameVector(step, "bias", shape[1]);
  step.SetOutput(shape);
}

// A weight as a direction, and a length for each of its slices.
void WeightNorm(Step& step) {
  const Shape direction = step.Tensor("v");
  step.FollowsFirst();
  step.SetOutput(step.Broadcast(direction, step.Tensor("g")));
}

}  // namespace sluice::model
