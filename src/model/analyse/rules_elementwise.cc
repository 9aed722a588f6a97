#include "model/analyse/rules.h"

namespace sluice::model {

void LikeFirst(Step& step) {
  step.SetOutput(step.First());
  step.FollowsFirst();
}

void Together(Step& step) {
  const Shape out = step.Broadcast(step.AllTensors());
  // A weight that is scaled is still that weight.
  step.FollowsAll(out.size());
  if (step.op() == "div" && step.IsLength("other")) step.MarkNormalised();
  if (step.op().starts_with("clamp") && step.IsLength("self")) step.MarkLength();
  step.SetOutput(out);
}

void BroadcastTensors(Step& step) {
  const Shape shape = step.Broadcast(step.AllTensors());
  step.SetOutputs(std::vector<Shape>(step.outputs(), shape));
}

void LikeFirstAlongFixed(Step& step) {
  Shape shape = step.First();
  if (!shape.empty()) {
    const auto axis = step.Integers(step.Has("dims") ? "dims" : "dim");
    for (const std::int64_t each : axis)
      step.Fix(shape[step.Axis(each, shape.size())], "it is taken along this dimension");
  }
  step.SetOutput(std::move(shape));
}

void Prelu(Step& step) {
  const Shape shape = step.First();
  const Shape weight = step.Tensor("weight");
  if (weight.size() == 1 && step.SizeOf(weight[0]) > 1 && shape.size() > 1)
    step.Same(shape[1], weight[0]);
  step.SetOutput(shape);
}

void NoOutput(Step&) {}

}  // namespace sluice::model
