#include <algorithm>
#include <cmath>

#include "model/analyse/rules.h"

namespace sluice::model {

void Make(const Step& step, Inference& inference) {
  Shape shape;
  for (const auto& size : step.Sizes("size")) {
    if (!size) inference.Fail("expected sizes of at least 0");
    shape.push_back(size.value_or(inference.Fixed(1)));
  }
  inference.SetOutput(std::move(shape));
}

void Arange(const Step& step, Inference& inference) {
  const double begin = step.Real("start", 0);
  const double end = step.Real("end", 0);
  const double by = step.Real("step", 1);
  const double size = std::ceil((end - begin) / by);
  if (!(size >= 0 && size < 1e12)) inference.Fail("expected an end that is not before the start");
  if (!inference.ok()) return;
  // A range from 0 to a computed size has the dimension of that size.
  if (begin == 0 && by == 1 && step.IsSize("end")) {
    inference.SetOutput({step.Size("end")});
    return;
  }
  inference.SetOutput({inference.Fixed(static_cast<std::int64_t>(size))});
}

void Linspace(const Step& step, Inference& inference) {
  const std::int64_t size = step.Integer("steps", 1);
  if (size < 0 || size > kMostElements) inference.Fail("expected a number of steps");
  if (inference.ok()) inference.SetOutput({inference.Fixed(size)});
}

void Eye(const Step& step, Inference& inference) {
  const Dim rows = step.Size("n");
  const Dim columns = step.Has("m") ? step.Size("m") : rows;
  inference.SetOutput({rows, columns});
}

void Scalar(const Step&, Inference& inference) { inference.SetOutput({}); }

void OneHot(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::int64_t classes = step.Integer("num_classes", -1);
  if (classes < 1) inference.Fail("expected a number of classes: without one it depends on data");
  if (!inference.ok()) return;
  shape.push_back(inference.Fixed(classes));
  inference.SetOutput(std::move(shape));
}

void SymbolicSize(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (inference.ok()) inference.SetOutputSize(shape[axis]);
}

void SymbolicNumel(const Step& step, Inference& inference) {
  inference.SetOutputSize(inference.Product(step.First()));
}

void SymbolicTimes(const Step& step, Inference& inference) {
  const std::vector<Dim> operands = step.Operands();
  if (inference.ok()) inference.SetOutputSize(inference.Product(operands));
}

void SymbolicPlus(const Step& step, Inference& inference) {
  const std::vector<Dim> operands = step.Operands();
  if (inference.ok()) inference.SetOutputSize(inference.Sum(operands));
}

// Subtraction, division and remainder. Their operands are numbers that inputs decide. The operands
// and the result are fixed.
void SymbolicOther(const Step& step, Inference& inference) {
  const std::vector<Dim> operands = step.Operands();
  if (inference.ok() && operands.size() != 2) inference.Fail("expected two numbers");
  if (!inference.ok()) return;
  for (const Dim operand : operands) inference.Fix(operand, "the network computes with this size");
  const std::int64_t a = inference.SizeOf(operands[0]);
  const std::int64_t b = inference.SizeOf(operands[1]);
  if (step.op() == "operator.sub") {
    if (a < b) inference.Fail("a size below 0");
    inference.SetOutputSize(inference.Fixed(std::max<std::int64_t>(a - b, 0)));
  } else if (b < 1) {
    inference.Fail("a division by 0");
  } else {
    inference.SetOutputSize(inference.Fixed(step.op() == "operator.mod" ? a % b : a / b));
  }
}

}  // namespace sluice::model
