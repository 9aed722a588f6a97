#include "model/analyse/rules.h"

namespace sluice::model {

void LikeFirst(const Step& step, Inference& inference) {
  inference.SetOutput(step.First());
  inference.FollowAxisByAxis(step.FirstValue());
}

void Together(const Step& step, Inference& inference) {
  const Shape out = inference.Broadcast(step.AllTensors());
  // A weight that is scaled is still that weight.
  inference.FollowBroadcast(step.AllValues(), out.size());
  if (step.op() == "div" && inference.IsLength(step.ValueOf("other"))) inference.MarkNormalised();
  if (step.op().starts_with("clamp") && inference.IsLength(step.ValueOf("self")))
    inference.MarkLength();
  inference.SetOutput(out);
}

void BroadcastTensors(const Step& step, Inference& inference) {
  const Shape shape = inference.Broadcast(step.AllTensors());
  inference.SetOutputs(std::vector<Shape>(step.outputs(), shape));
}

void LikeFirstAlongFixed(const Step& step, Inference& inference) {
  Shape shape = step.First();
  if (!shape.empty()) {
    const auto axis = step.Integers(step.Has("dims") ? "dims" : "dim");
    for (const std::int64_t each : axis)
      inference.Fix(shape[step.Axis(each, shape.size())],
                    "the operator works along this dimension");
  }
  inference.SetOutput(std::move(shape));
}

void Prelu(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const Shape weight = step.Tensor("weight");
  if (weight.size() == 1 && inference.SizeOf(weight[0]) > 1 && shape.size() > 1)
    inference.Unify(shape[1], weight[0]);
  inference.SetOutput(shape);
}

void NoOutput(const Step&, Inference&) {}

}  // namespace sluice::model
