#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

// The shape without these axes, or with 1 in their place if `keeps`. If no axes are given, all axes
// are reduced.
Shape Reduced(const Step& step, Inference& inference, const Shape& shape,
              const std::vector<std::int64_t>& axes, bool keeps) {
  std::vector<bool> gone(shape.size(), axes.empty());
  for (const std::int64_t axis : axes)
    if (!shape.empty()) gone[step.Axis(axis, shape.size())] = true;
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) {
      out.push_back(shape[i]);
    } else if (keeps) {
      out.push_back(inference.Fixed(1));
    }
    // A dimension that is reduced counts similar things, such as tokens or pixels. Widths shrink
    // before such a dimension.
    if (gone[i]) inference.Raise(shape[i], Dims::Rank::kCount);
  }
  return out;
}

constexpr std::int64_t kNoReduction = 0;

}  // namespace

void Reduce(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  inference.SetOutput(
      Reduced(step, inference, shape, step.Integers("dim"), step.Boolean("keepdim", false)));
  if (step.op() == "linalg_vector_norm" || step.op() == "norm") inference.MarkLength();
}

void ReduceWithIndex(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  if (!step.Has("dim")) {
    if (step.IsTensor("other")) {
      Together(step, inference);
    } else {
      inference.SetOutput({});
    }
    return;
  }
  // The dimension is fixed only if the index of what was found is used.
  const auto index = step.Output(1);
  const bool asks = step.outputs() == 1 || (index && inference.IsUsed(*index));
  if (!shape.empty() && asks)
    inference.Fix(shape[step.Axis("dim", 0, shape.size())], "one of its elements is picked");
  const Shape out =
      Reduced(step, inference, shape, step.Integers("dim"), step.Boolean("keepdim", false));
  inference.SetOutputs(std::vector<Shape>(step.outputs(), out));
}

void TopK(const Step& step, Inference& inference) {
  Shape shape = step.First();
  if (!shape.empty()) {
    const std::size_t axis = step.Axis("dim", -1, shape.size());
    inference.Fix(shape[axis], "some of its elements are picked");
    if (step.op() == "topk") {
      const std::int64_t k = step.Integer("k", 1);
      if (k < 0 || k > inference.SizeOf(shape[axis]))
        inference.Fail("more elements are picked than there are");
      shape[axis] = inference.Fixed(std::max<std::int64_t>(k, 0));
    }
  }
  inference.SetOutputs(std::vector<Shape>(step.outputs(), shape));
}

void CosineSimilarity(const Step& step, Inference& inference) {
  const Shape both = inference.Broadcast(step.Tensor("x1"), step.Tensor("x2"));
  inference.SetOutput(Reduced(step, inference, both, {step.Integer("dim", 1)}, false));
}

void Loss(const Step& step, Inference& inference) {
  const Shape shape = inference.Broadcast(step.First(), step.Tensor("target"));
  inference.SetOutput(step.Integer("reduction", 1) == kNoReduction ? shape : Shape());
}

void CrossEntropy(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const Shape target = step.Tensor("target");
  if (shape.empty()) inference.Fail("expected a score for each class");
  if (!inference.ok()) return;
  const std::size_t classes = shape.size() == 1 ? 0 : 1;
  inference.Fix(shape[classes], "classes");
  if (step.Has("weight")) {
    const Shape weight = step.Tensor("weight");
    if (weight.size() == 1) inference.Unify(weight[0], shape[classes]);
  }
  if (target.size() == shape.size()) {
    for (std::size_t i = 0; i < shape.size(); ++i) inference.Unify(shape[i], target[i]);
  } else if (target.size() + 1 == shape.size()) {
    for (std::size_t i = 0; i < target.size(); ++i)
      inference.Unify(shape[i < classes ? i : i + 1], target[i]);
  } else {
    inference.Fail("the target does not match the scores");
  }
  Shape each = shape;
  each.erase(each.begin() + static_cast<std::ptrdiff_t>(classes));
  inference.SetOutput(step.Integer("reduction", 1) == kNoReduction ? each : Shape());
}

}  // namespace sluice::model
