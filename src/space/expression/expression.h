#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "space/parameter.h"

namespace sluice {

enum class Truth { kFalse, kTrue, kUndefined };

// The names that an expression may use: the parameters of a space. The parameters must outlive the
// Symbols.
class Symbols {
 public:
  explicit Symbols(const std::vector<Parameter>& parameters);

  const std::vector<Parameter>& parameters() const { return *parameters_; }
  // The index of the parameter with this name; nothing if there is none.
  std::optional<std::size_t> Find(std::string_view name) const;

 private:
  const std::vector<Parameter>* parameters_;
  std::map<std::string, std::size_t, std::less<>> indices_;
};

// A statement about the values of parameters that is true or false, such as
//
//   optimizer == 'sgd' and 0 < lr * momentum <= 0.5
//   `weight-decay` < lr or layers in [1, 2]
//
// An expression consists of numbers, 'texts', true, false and names of parameters; `or`, `and`,
// `not`; == != < <= > >=, chained as in Python; `in` and `not in` with a list of constants;
// + - * / // % ** with Python's meaning; min max abs log log2 log10 exp sqrt floor ceil round;
// parentheses. A parameter with choices is compared with one of its choices or with another
// parameter that has choices. The choices of an ordinal with texts are ordered as they are listed.
// Choices that are all numbers count as numbers. Choices that are all true or false count as truth
// values.
//
// An expression is compiled for a stack machine. An evaluation takes some tens of nanoseconds and
// allocates no memory.
class Expression {
 public:
  static constexpr std::size_t kLongestText = 4096;
  static constexpr int kDeepest = 64;  // levels of parentheses and the like

  // Fails with "column 7: expected a number, found ..." on a text that is not an expression, on
  // types that do not fit together, on names and choices that do not exist (suggesting the
  // nearest), on a division by a constant zero, and on an expression whose result is not true or
  // false.
  static Result<Expression> Parse(std::string_view text, const Symbols& symbols);

  // The indices of the parameters that the expression mentions, in ascending order.
  const std::vector<std::size_t>& mentions() const { return mentions_; }
  // The number of instructions: the most that an evaluation executes.
  std::size_t size() const { return code_.size(); }
  // Whether the expression mentions no parameter, as in `true` or `1 < 2`.
  bool is_constant() const { return mentions_.empty(); }

  // The result at a point. Every parameter that the expression mentions must be active there.
  // Undefined if an intermediate number is not finite (a division by zero, the log of a negative
  // number). Operands that `and`, `or` and a chain of comparisons skip are not computed, so they do
  // not count.
  Truth Evaluate(std::span<const double> point) const;

  // Whether both expressions have the same code. Blanks and superfluous parentheses make no
  // difference.
  bool operator==(const Expression&) const = default;

 private:
  friend class ExpressionParser;

  enum class Op : std::uint8_t {
    kConstant,   // value
    kLoad,       // point[slot]
    kLoadTable,  // tables[target][point[slot]]
    kAnd,        // pops the top if it is true, else jumps to target
    kOr,         // pops the top if it is false, else jumps to target
    // Compares the two top values. If the comparison is true, leaves the right value. Otherwise
    // leaves the result and jumps to target.
    kChain,
    kIn,  // whether the top is in tables[target]
    kNot,
    kNegate,
    kAbs,
    kLog,
    kLog2,
    kLog10,
    kExp,
    kSqrt,
    kFloor,
    kCeil,
    kRound,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kRemainder,
    kPower,
    kMin,
    kMax,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
  };
  struct Instruction {
    Op op;
    Op comparison = Op::kEqual;  // of kChain
    std::uint32_t slot = 0;
    std::uint32_t target = 0;
    double value = 0;
    bool operator==(const Instruction&) const = default;
  };
  static constexpr std::size_t kDeepestStack = 128;

  // NaN where the result is not finite.
  static double Unary(Op op, double a);
  static double Binary(Op op, double a, double b);
  // The largest number of values that are on the stack at the same time.
  std::size_t StackDepth() const;

  std::vector<Instruction> code_;
  std::vector<std::vector<double>> tables_;
  std::vector<std::size_t> mentions_;
};

// A name as an expression writes it: in backquotes unless it is a plain word.
std::string QuotedName(std::string_view name);
// A value as an expression writes it: 'text', 3, true.
std::string QuotedValue(const Choice& value);

}  // namespace sluice
