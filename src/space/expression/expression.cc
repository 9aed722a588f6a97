#include "space/expression/expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "space/expression/expression_lexer.h"

namespace sluice {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Finite(double value) { return std::isfinite(value) ? value : kNan; }

// The remainder with the sign of the divisor, as in Python.
double Remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Not floor(a / b): a / b may be rounded up to a whole number. 1 // 0.1 must be 9, as in Python,
// but floor(1 / 0.1) is 10.
double FloorDivide(double a, double b) {
  const double quotient = (a - Remainder(a, b)) / b;
  return std::floor(quotient + 0.5);
}

std::string InQuotes(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + quote;
}

}  // namespace

Symbols::Symbols(const std::vector<Parameter>& parameters) : parameters_(&parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) indices_.emplace(parameters[i].name, i);
}

std::optional<std::size_t> Symbols::Find(std::string_view name) const {
  const auto found = indices_.find(name);
  return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

double Expression::Unary(Op op, double a) {
  switch (op) {
    case Op::kNot: return 1 - a;
    case Op::kNegate: return -a;
    case Op::kAbs: return std::abs(a);
    case Op::kLog: return Finite(std::log(a));
    case Op::kLog2: return Finite(std::log2(a));
    case Op::kLog10: return Finite(std::log10(a));
    case Op::kExp: return Finite(std::exp(a));
    case Op::kSqrt: return Finite(std::sqrt(a));
    case Op::kFloor: return std::floor(a);
    case Op::kCeil: return std::ceil(a);
    case Op::kRound: return std::nearbyint(a);
    default: SLUICE_CHECK(false, "an operation of one value");
  }
}

double Expression::Binary(Op op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  switch (op) {
    case Op::kAdd: return Finite(a + b);
    case Op::kSubtract: return Finite(a - b);
    case Op::kMultiply: return Finite(a * b);
    case Op::kDivide: return Finite(a / b);
    case Op::kFloorDivide: return b == 0 ? kNan : Finite(FloorDivide(a, b));
    case Op::kRemainder: return b == 0 ? kNan : Finite(Remainder(a, b));
    case Op::kPower: return Finite(std::pow(a, b));
    case Op::kMin: return std::min(a, b);
    case Op::kMax: return std::max(a, b);
    case Op::kEqual: return a == b ? 1 : 0;
    case Op::kNotEqual: return a != b ? 1 : 0;
    case Op::kLess: return a < b ? 1 : 0;
    case Op::kLessEqual: return a <= b ? 1 : 0;
    case Op::kGreater: return a > b ? 1 : 0;
    case Op::kGreaterEqual: return a >= b ? 1 : 0;
    default: SLUICE_CHECK(false, "an operation of two values");
  }
}

Truth Expression::Evaluate(std::span<const double> point) const {
  std::array<double, kDeepestStack> stack;
  std::size_t size = 0;
  const auto top = [&]() -> double& { return stack[size - 1]; };
  for (std::size_t at = 0; at < code_.size(); ++at) {
    const Instruction& now = code_[at];
    switch (now.op) {
      case Op::kConstant: stack[size++] = now.value; break;
      case Op::kLoad: stack[size++] = point[now.slot]; break;
      case Op::kLoadTable: {
        const double index = point[now.slot];
        stack[size++] =
            std::isnan(index) ? kNan : tables_[now.target][static_cast<std::size_t>(index)];
        break;
      }
      case Op::kAnd:
      case Op::kOr:
        if (top() == (now.op == Op::kAnd ? 1 : 0)) {
          --size;
        } else {
          at = now.target - 1;
        }
        break;
      case Op::kChain: {
        const double holds = Binary(now.comparison, stack[size - 2], top());
        stack[size - 2] = holds == 1 ? top() : holds;
        --size;
        if (holds != 1) at = now.target - 1;
        break;
      }
      case Op::kIn:
        if (!std::isnan(top())) {
          top() =
              std::ranges::find(tables_[now.target], top()) != tables_[now.target].end() ? 1 : 0;
        }
        break;
      default:
        if (now.op < Op::kAdd) {
          top() = Unary(now.op, top());
        } else {
          stack[size - 2] = Binary(now.op, stack[size - 2], top());
          --size;
        }
    }
  }
  if (std::isnan(top())) return Truth::kUndefined;
  return top() == 1 ? Truth::kTrue : Truth::kFalse;
}

// At the target of a jump, the stack is equally deep whether or not the jump was taken. So the code
// can be read from the first to the last instruction.
std::size_t Expression::StackDepth() const {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (const Instruction& now : code_) {
    if (now.op <= Op::kLoadTable) {
      most = std::max(most, ++depth);
    } else if (now.op == Op::kAnd || now.op == Op::kOr || now.op == Op::kChain ||
               now.op >= Op::kAdd) {
      --depth;
    }
  }
  return most;
}

std::string QuotedName(std::string_view name) {
  return IsPlainWord(name) ? std::string(name) : InQuotes(name, '`');
}

std::string QuotedValue(const Choice& value) {
  const std::string* text = std::get_if<std::string>(&value);
  return text != nullptr ? InQuotes(*text, '\'') : FormatValue(value);
}

}  // namespace sluice
