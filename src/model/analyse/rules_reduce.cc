#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

// The shape without these axes, or with 1 in their place. If none is given, it is all of them.
Shape Reduced(Step& step, const Shape& shape, const std::vector<std::int64_t>& axes, bool keeps) {
  std::vector<bool> gone(shape.size(), axes.empty());
  for (const std::int64_t axis : axes)
    if (!shape.empty()) gone[step.Axis(axis, shape.size())] = true;
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) {
      out.push_back(shape[i]);
    } else if (keeps) {
      out.push_back(step.Fixed(1));
    }
    // A dimension that is reduced is a number of alike things, and does not shrink first.
    if (gone[i]) step.dims().Raise(shape[i], Dims::Rank::kCount);
  }
  return out;
}

constexpr std::int64_t kNoReduction = 0;

}  // namespace

void Reduce(Step& step) {
  const Shape shape = step.First();
  step.SetOutput(Reduced(step, shape, step.Integers("dim"), step.Boolean("keepdim", false)));
  if (step.op() == "linalg_vector_norm" || step.op() == "norm") step.MarkLength();
}

void ReduceWithIndex(Step& step) {
  const Shape shape = step.First();
  if (!step.Has("dim")) {
    if (step.IsTensor("other")) {
      Together(step);
    } else {
      step.SetOutput({});
    }
    return;
  }
  // The dimension is fixed only if the index of what was found is used.
  const bool asks = step.outputs() == 1 || step.IsUsed(1);
  if (!shape.empty() && asks)
    step.Fix(shape[step.Axis("dim", 0, shape.size())], "one of its elements is picked");
  const Shape out = Reduced(step, shape, step.Integers("dim"), step.Boolean("keepdim", false));
  step.SetOutputs(std::vector<Shape>(step.outputs(), out));
}

void TopK(Step& step) {
  Shape shape = step.First();
  if (!shape.empty()) {
    const std::size_t axis = step.Axis("dim", -1, shape.size());
    step.Fix(shape[axis], "some of its elements are picked");
    if (step.op() == "topk") {
      const std::int64_t k = step.Integer("k", 1);
      if (k < 0 || k > step.SizeOf(shape[axis]))
        step.Fail("more elements are picked than there are");
      shape[axis] = step.Fixed(std::max<std::int64_t>(k, 0));
    }
  }
  step.SetOutputs(std::vector<Shape>(step.outputs(), shape));
}

void CosineSimilarity(Step& step) {
  const Shape both = step.Broadcast(step.Tensor("x1"), step.Tensor("x2"));
  step.SetOutput(Reduced(step, both, {step.Integer("dim", 1)}, false));
}

void Loss(Step& step) {
  const Shape shape = step.Broadcast(step.First(), step.Tensor("target"));
  step.SetOutput(step.Integer("reduction", 1) == kNoReduction ? shape : Shape());
}

void CrossEntropy(Step& step) {
  const Shape shape = step.First();
  const Shape target = step.Tensor("target");
  if (shape.empty()) step.Fail("expected a score for each class");
  if (!step.ok()) return;
  const std::size_t classes = shape.size() == 1 ? 0 : 1;
  step.Fix(shape[classes], "classes");
  if (step.Has("weight")) {
    const Shape weight = step.Tensor("weight");
    if (weight.size() == 1) step.Same(weight[0], shape[classes]);
  }
  if (target.size() == shape.size()) {
    for (std::size_t i = 0; i < shape.size(); ++i) step.Same(shape[i], target[i]);
  } else if (target.size() + 1 == shape.size()) {
    for (std::size_t i = 0; i < target.size(); ++i)
      step.Same(shape[i < classes ? i : i + 1], target[i]);
  } else {
    step.Fail("the target does not go with the scores");
  }
  Shape each = shape;
  each.erase(each.begin() + static_cast<std::ptrdiff_t>(classes));
  step.SetOutput(step.Integer("reduction", 1) == kNoReduction ? each : Shape());
}

}  // namespace sluice::model
