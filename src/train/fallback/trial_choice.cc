#include "train/fallback/trial_choice.h"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "train/fallback/vmap.h"

namespace sluice::train {
namespace {

constexpr std::int64_t kTried = 2;  // trials
constexpr double kAlike = 1e-10;    // of two results of one computation in double precision

// What a way to run the step gives: its results with the trials in front, and gradients.
struct Tried {
  std::vector<at::Tensor> results;
  std::vector<at::Tensor> gradients;
};

Tried Try(const Step& step, std::vector<Value>& registers, void (Call::*way)()) {
  std::vector<c10::IValue> stack;
  const Call::Context context{.registers = registers, .trials = kTried, .stack = &stack};
  Call call(step, context);
  (call.*way)();
  Tried tried;
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const Value& each : call.results) {
    tried.results.push_back(each.tensor.defined() ? At(each, 0, kTried) : at::Tensor());
    if (!tried.results.back().defined() || !tried.results.back().is_floating_point()) continue;
    const at::Tensor& y = tried.results.back();
    // Elements weigh differently, so that none can stand for another.
    const at::Tensor weights = at::arange(y.numel(), at::kDouble).remainder(7).add(1);
    sum = sum + (y.to(at::kDouble).flatten() * weights).sum();
  }
  std::vector<at::Tensor> sources;
  for (const Value& each : registers)
    if (each.tensor.defined() && each.tensor.requires_grad()) sources.push_back(each.tensor);
  if (sum.requires_grad() && !sources.empty())
    tried.gradients = torch::autograd::grad({sum}, sources, {}, std::nullopt, false, true);
  return tried;
}

bool Alike(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) {
    const at::Tensor& one = a.defined() ? a : b;
    return !one.defined() || (one.is_floating_point() && one.eq(0).all().item().toBool());
  }
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  if (!a.is_floating_point() && !a.is_complex()) return at::equal(a, b);
  return at::allclose(a, b, kAlike, kAlike, /*equal_nan=*/true);
}

bool Alike(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!Alike(a[i], b[i])) return false;
  return true;
}

}  // namespace

// Floating numbers lie between 0.1 and 1.1, so that roots and logarithms are numbers, and indices
// are 0 or 1, which most dimensions have.
Value RandomOperand(const model::Value& value, bool stacked, std::uint32_t seed) {
  if (value.kind != model::Value::Kind::kTensor) return {};
  constexpr std::int64_t kMostElements = 1 << 20;
  std::vector<std::int64_t> sizes;
  if (stacked) sizes.push_back(kTried);
  std::int64_t count = stacked ? kTried : 1;
  for (const model::Size& size : value.sizes) {
    if (size.number < 0 || size.number > kMostElements) return {};
    sizes.push_back(size.number);
    count *= size.number;
    if (count > kMostElements) return {};
  }
  at::Tensor tensor;
  if (value.dtype == model::DType::kBool) {
    tensor = (at::arange(count, at::kLong) + seed).remainder(3).ne(0).view(sizes);
  } else if (!model::IsFloating(value.dtype)) {
    tensor = at::arange(count, at::kLong).add(seed).remainder(2).view(sizes);
  } else {
    constexpr double kGolden = 0.6180339887498949;  // its multiples are spread over the fractions
    const at::Tensor places = at::arange(count, at::kDouble) + static_cast<double>(seed);
    tensor = places.mul(kGolden).frac().add(0.1).view(sizes).requires_grad_();
  }
  return stacked ? Stacked(std::move(tensor)) : Shared(std::move(tensor));
}

TrialChoice ChooseForTrials(const Step& step, std::size_t registers,
                            const std::function<Value(Register)>& example_of) {
  if (!Vmap::IsThere()) return {.why = "vmap is not in this build"};
  std::vector<Value> values(registers);
  for (const Operand& operand : step.operands) {
    std::vector<Register> read;
    if (operand.kind == Operand::Kind::kValue) read.push_back(operand.value);
    for (const auto& each : operand.values)
      if (each) read.push_back(*each);
    for (const auto& each : operand.numbers)
      if (each.computed) return {.why = "vmap cannot be tried with numbers that are computed"};
    for (const Register each : read) {
      values[each] = example_of(each);
      if (!values[each].tensor.defined())
        return {.why = "vmap cannot be tried where the sizes of operands are unknown or large"};
    }
  }
  const at::AutoGradMode gradients(true);
  Tried by_loop;
  try {
    by_loop = Try(step, values, &Call::Loop);
  } catch (const std::exception&) {
    return {.why = "vmap cannot be tried on random operands"};
  }
  try {
    const Tried by_vmap = Try(step, values, &Call::CallByVmap);
    if (Alike(by_loop.results, by_vmap.results) && Alike(by_loop.gradients, by_vmap.gradients))
      return {.vmap = true, .why = ""};
    return {.why = "vmap computes something else"};
  } catch (const std::exception&) {
    return {.why = "vmap refuses it"};
  }
}

}  // namespace sluice::train
