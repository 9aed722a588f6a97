#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

void SameVector(const Step& step, Inference& inference, std::string_view name, Dim channels) {
  if (!step.Has(name)) return;
  const Shape vector = step.Tensor(name);
  if (vector.size() != 1) inference.Fail("expected a vector for each channel");
  if (inference.ok()) inference.Unify(vector[0], channels);
}

}  // namespace

void BatchNorm(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  if (shape.size() < 2) inference.Fail("expected channels as the second dimension");
  if (!inference.ok()) return;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    SameVector(step, inference, name, shape[1]);
  inference.SetOutput(shape);
}

void LayerNorm(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const std::vector<std::optional<Dim>> sizes = step.Sizes("normalized_shape");
  if (sizes.empty() || sizes.size() > shape.size()) inference.Fail("expected the last dimensions");
  if (!inference.ok()) return;
  const std::size_t first = shape.size() - sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i]) inference.Unify(shape[first + i], *sizes[i]);
    for (const char* name : {"weight", "bias"}) {
      if (!step.Has(name)) continue;
      const Shape affine = step.Tensor(name);
      if (affine.size() != sizes.size())
        inference.Fail("expected an affine part of the same dimensions");
      if (!inference.ok()) return;
      inference.Unify(affine[i], shape[first + i]);
    }
  }
  inference.SetOutput(shape);
}

void GroupNorm(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  if (shape.size() < 2) inference.Fail("expected channels as the second dimension");
  const Dim groups = step.Size("num_groups");
  if (!inference.ok()) return;
  const std::int64_t count = inference.SizeOf(groups);
  if (count < 1 || inference.SizeOf(shape[1]) % count != 0) {
    inference.Fail("the channels cannot be divided into the groups");
    return;
  }
  const Dim in_one = inference.New(inference.SizeOf(shape[1]) / count);
  if (inference.SizeOf(in_one) > 1) inference.Raise(groups, Dims::Rank::kCount);
  inference.Unify(shape[1], inference.Product({groups, in_one}));
  SameVector(step, inference, "weight", shape[1]);
  SameVector(step, inference, "bias", shape[1]);
  inference.SetOutput(shape);
}

// A weight as a direction, and a length for each of its slices.
void WeightNorm(const Step& step, Inference& inference) {
  const Shape direction = step.Tensor("v");
  inference.FollowAxisByAxis(step.FirstValue());
  inference.SetOutput(inference.Broadcast(direction, step.Tensor("g")));
}

}  // namespace sluice::model
