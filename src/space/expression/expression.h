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

// The names an expression may use: the parameters of a space, which must outlive it.
class Symbols {
 public:
  explicit Symbols(const std::vector<Parameter>& parameters);

  const std::vector<Parameter>& parameters() const { return *parameters_; }
  // Nothing if there is none; else its index.
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
// There are numbers, 'texts', true, false and names of parameters; or, and, not; == != < <= > >=,
// chained as in Python; in and not in a list of constants; + - * / // % ** with Python's
// meaning; min max abs log log2 log10 exp sqrt floor ceil round; parentheses. A choice is compared
// with its choices or with another choice, and an ordinal of texts goes by its order; choices that
// are all numbers are numbers, and choices that are all true or false are truths.
//
// Compiled for a stack machine: an evaluation takes some ten nanoseconds and no memory.
class Expression {
 public:
  static constexpr std::size_t kLongestText = 4096;
  static constexpr int kDeepest = 64;  // of parentheses and the like

  // Fails with "column 7: expected a number, found ..." on what is no expression, on types that do
  // not go together, on names and choices that do not exist (suggesting the nearest), on a division
  // by a constant zero, and on what is not true or false.
  static Result<Expression> Parse(std::string_view text, const Symbols& symbols);

  // The parameters it mentions, in order.
  const std::vector<std::size_t>& mentions() const { return mentions_; }
  // Instructions: what an evaluation costs at most.
  std::size_t size() const { return code_.size(); }
  // Whether it says the same whatever the values: true, 1 < 2.
  bool is_constant() const { return mentions_.empty(); }

  // Of a point in which what it mentions is active. Undefined where a number on the way is not
  // finite (a division by zero, the log of a negative number), unless `and` or `or` was decided
  // before it got there.
  Truth Evaluate(std::span<const double> point) const;

  // Whether both are the same once parsed, whatever their blanks and parentheses.
  bool operator==(const Expression&) const = default;

 private:
  friend class ExpressionParser;

  enum class Op : std::uint8_t {
    kConstant,   // value
    kLoad,       // point[slot]
    kLoadTable,  // tables[target][point[slot]]
    kAnd,        // goes to target unless the top is true, which it takes away
    kOr,         // goes to target unless the top is false, which it takes away
    kChain,      // compares; takes the left away if true, else leaves that and goes to target
    kIn,         // whether the top is in tables[target]
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
  // How deep the stack gets.
  std::size_t StackDepth() const;

  std::vector<Instruction> code_;
  std::vector<std::vector<double>> tables_;
  std::vector<std::size_t> mentions_;
};

// A name as an expression takes it: in backquotes unless it is a plain word.
std::string QuotedName(std::string_view name);
// A value as an expression takes it: 'text', 3, true.
std::string QuotedValue(const Choice& value);

}  // namespace sluice
