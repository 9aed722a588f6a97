#include "train/numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sluice::train {
namespace {

using Binary = at::Scalar (*)(const at::Scalar&, const at::Scalar&);

bool Whole(const at::Scalar& a, const at::Scalar& b) {
  return !a.isFloatingPoint() && !b.isFloatingPoint();
}

// As Python computes: whole numbers stay whole, quotients are rounded down.
template <typename Number>
Number Quotient(Number a, Number b) {
  TORCH_CHECK(b != 0, "division by zero");
  if constexpr (std::is_floating_point_v<Number>) {
    return std::floor(a / b);
  } else {
    TORCH_CHECK(b != -1 || a != INT64_MIN, "a quotient is too large");
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
  }
}

std::int64_t Checked(bool overflow, std::int64_t number) {
  TORCH_CHECK(!overflow && number != INT64_MIN, "a computed size is too large");
  return number;
}

at::Scalar Plus(const at::Scalar& a, const at::Scalar& b) {
  if (!Whole(a, b)) return a.toDouble() + b.toDouble();
  std::int64_t sum = 0;
  const bool overflow = __builtin_add_overflow(a.toLong(), b.toLong(), &sum);
  return Checked(overflow, sum);
}
at::Scalar Minus(const at::Scalar& a, const at::Scalar& b) {
  if (!Whole(a, b)) return a.toDouble() - b.toDouble();
  std::int64_t difference = 0;
  const bool overflow = __builtin_sub_overflow(a.toLong(), b.toLong(), &difference);
  return Checked(overflow, difference);
}
at::Scalar Times(const at::Scalar& a, const at::Scalar& b) {
  if (!Whole(a, b)) return a.toDouble() * b.toDouble();
  std::int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a.toLong(), b.toLong(), &product);
  return Checked(overflow, product);
}
at::Scalar FloorDivide(const at::Scalar& a, const at::Scalar& b) {
  if (!Whole(a, b)) return Quotient(a.toDouble(), b.toDouble());
  return Quotient(a.toLong(), b.toLong());
}
at::Scalar Modulo(const at::Scalar& a, const at::Scalar& b) {
  if (!Whole(a, b)) return a.toDouble() - Quotient(a.toDouble(), b.toDouble()) * b.toDouble();
  return a.toLong() - Quotient(a.toLong(), b.toLong()) * b.toLong();
}
at::Scalar TrueDivide(const at::Scalar& a, const at::Scalar& b) {
  TORCH_CHECK(b.toDouble() != 0, "division by zero");
  return a.toDouble() / b.toDouble();
}
at::Scalar Power(const at::Scalar& a, const at::Scalar& b) {
  const double power = std::pow(a.toDouble(), b.toDouble());
  if (!Whole(a, b) || b.toLong() < 0) return power;
  TORCH_CHECK(std::abs(power) < 0x1p53, "a computed size is too large");
  return static_cast<std::int64_t>(power);
}

template <typename Compare>
at::Scalar Compared(const at::Scalar& a, const at::Scalar& b, Compare compare) {
  return Whole(a, b) ? compare(a.toLong(), b.toLong()) : compare(a.toDouble(), b.toDouble());
}

struct BinaryRow {
  std::string_view op;
  Binary compute;
};
constexpr BinaryRow kBinary[] = {
    {"operator.add", Plus},
    {"operator.sub", Minus},
    {"operator.mul", Times},
    {"operator.floordiv", FloorDivide},
    {"operator.truediv", TrueDivide},
    {"operator.mod", Modulo},
    {"operator.pow", Power},
    {"operator.eq",
     [](const at::Scalar& a, const at::Scalar& b) {
       return Compared(a, b, [](auto x, auto y) { return at::Scalar(x == y); });
     }},
    {"operator.ne",
     [](const at::Scalar& a, const at::Scalar& b) {
       return Compared(a, b, [](auto x, auto y) { return at::Scalar(x != y); });
     }},
    {"operator.lt",
     [](const at::Scalar& a, const at::Scalar& b) {
       return Compared(a, b, [](auto x, auto y) { return at::Scalar(x < y); });
     }},
    {"operator.le",
     [](const at::Scalar& a, const at::Scalar& b) {
       return Compared(a, b, [](auto x, auto y) { return at::Scalar(x <= y); });
     }},
    {"operator.gt",
     [](const at::Scalar& a, const at::Scalar& b) {
       return Compared(a, b, [](auto x, auto y) { return at::Scalar(x > y); });
     }},
    {"operator.ge",
     [](const at::Scalar& a, const at::Scalar& b) {
       return Compared(a, b, [](auto x, auto y) { return at::Scalar(x >= y); });
     }},
};

void SizeOf(Call& call) { call.Return(OfNumber(call.Tensor(0).size(call.Integer(1)))); }

void ElementsOf(Call& call) {
  const Value& x = call.Tensor(0);
  const std::int64_t trials = x.stacked() ? call.trials() : 1;
  call.Return(OfNumber(x.tensor.numel() / trials));
}

}  // namespace

NumberRule NumberRuleOf(std::string_view op) {
  if (op == "aten.sym_size.int") return {SizeOf, 2};
  if (op == "aten.sym_numel.default") return {ElementsOf, 1};
  if (op == "operator.neg")
    return {[](Call& call) { call.Return(OfNumber(Minus(0, call.Number(0)))); }, 1};
  const BinaryRow* found = std::ranges::find(kBinary, op, &BinaryRow::op);
  if (found == std::end(kBinary)) return {};
  return {[compute = found->compute](Call& call) {
            call.Return(OfNumber(compute(call.Number(0), call.Number(1))));
          },
          2};
}

}  // namespace sluice::train
