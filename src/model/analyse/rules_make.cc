#include <algorithm>
#include <cmath>

#include "model/analyse/rules.h"

namespace sluice::model {

void Make(Step& step) {
  Shape shape;
  for (const auto& size : step.Sizes("size")) {
    if (!size) step.Fail("expected sizes of at least 0");
    shape.push_back(size.value_or(step.Fixed(1)));
  }
  step.SetOutput(std::move(shape));
}

void Arange(Step& step) {
  const double begin = step.Real("start", 0);
  const double end = step.Real("end", 0);
  const double by = step.Real("step", 1);
  const double size = std::ceil((end - begin) / by);
  if (!(size >= 0 && size < 1e12)) step.Fail("expected an end behind its beginning");
  if (!step.ok()) return;
  // Up to a computed size, the output has the dimension of that size.
  if (begin == 0 && by == 1 && step.IsSize("end")) {
    step.SetOutput({step.Size("end")});
    return;
  }
  step.SetOutput({step.Fixed(static_cast<std::int64_t>(size))});
}

void Linspace(Step& step) {
  const std::int64_t size = step.Integer("steps", 1);
  if (size < 0 || size > std::int64_t{1} << 40) step.Fail("expected a number of steps");
  if (step.ok()) step.SetOutput({step.Fixed(size)});
}

void Eye(Step& step) {
  const Dim rows = step.Size("n");
  const Dim columns = step.Has("m") ? step.Size("m") : rows;
  step.SetOutput({rows, columns});
}

void Scalar(Step& step) { step.SetOutput({}); }

void OneHot(Step& step) {
  Shape shape = step.First();
  const std::int64_t classes = step.Integer("num_classes", -1);
  if (classes < 1) step.Fail("expected a number of classes: without one it depends on data");
  if (!step.ok()) return;
  shape.push_back(step.Fixed(classes));
  step.SetOutput(std::move(shape));
}

void SymbolicSize(Step& step) {
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (step.ok()) step.SetOutputSize(shape[axis]);
}

void SymbolicNumel(Step& step) { step.SetOutputSize(step.dims().Product(step.First())); }

void SymbolicTimes(Step& step) {
  const std::vector<Dim> operands = step.Operands();
  if (step.ok()) step.SetOutputSize(step.dims().Product(operands));
}

void SymbolicPlus(Step& step) {
  const std::vector<Dim> operands = step.Operands();
  if (step.ok()) step.SetOutputSize(step.dims().Sum(operands));
}

// Subtraction, division and remainder. Their operands are numbers that inputs decide, and stay as
// they are.
void SymbolicOther(Step& step) {
  const std::vector<Dim> operands = step.Operands();
  if (step.ok() && operands.size() != 2) step.Fail("expected two numbers");
  if (!step.ok()) return;
  for (const Dim operand : operands) step.Fix(operand, "it is computed with");
  const std::int64_t a = step.SizeOf(operands[0]);
  const std::int64_t b = step.SizeOf(operands[1]);
  if (step.op() == "operator.sub") {
    if (a < b) step.Fail("a size below 0");
    step.SetOutputSize(step.Fixed(std::max<std::int64_t>(a - b, 0)));
  } else if (b < 1) {
    step.Fail("a division by 0");
  } else {
    step.SetOutputSize(step.Fixed(step.op() == "operator.mod" ? a % b : a / b));
  }
}

}  // namespace sluice::model
