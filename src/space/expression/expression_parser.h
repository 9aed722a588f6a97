#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/expression/expression.h"
#include "space/expression/expression_lexer.h"

namespace sluice {

// Parses an expression from left to right and emits its code on the way. A constant is one
// instruction. Its value may still change when the other side of a comparison becomes known.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const Symbols& symbols)
      : text_(text), symbols_(symbols) {}

  Result<Expression> Run();

 private:
  using Op = Expression::Op;
  enum class Type { kNumber, kTruth, kChoice };

  // A part of the expression that has been read.
  struct Operand {
    Type type;
    std::size_t begin;  // position in the text, in bytes
    std::size_t end;
    std::size_t code;                      // its first instruction
    std::optional<Choice> literal = {};    // bool, double or text, if the operand is a constant
    const Parameter* parameter = nullptr;  // if the operand is only a parameter with choices
  };
  struct Comparison {
    Op op;
    std::string_view symbol;
  };

  Result<Operand> Or();
  Result<Operand> And();
  Result<Operand> Not();
  Result<Operand> Compared();
  Result<Operand> Sum();
  Result<Operand> Product();
  Result<Operand> Signed();
  Result<Operand> Power();
  Result<Operand> Primary();
  Result<Operand> Name(const Token& token);
  Result<Operand> Call(const Token& name);
  Result<Operand> Membership(const Operand& left, bool negated);

  Result<Operand> Joined(Result<Operand> (ExpressionParser::*part)(), Op op);
  Result<Operand> Arithmetic(const Operand& left, Op op, const Token& symbol, const Operand& right);
  Result<Operand> Function(const Operand& argument, Op op);

  // Which sides of a comparison take part in another comparison too, as `a` does in 0 < a < b.
  struct Shared {
    bool left;
    bool right;
  };

  // Check what may be compared, and set the numbers that stand for choices (expression_types.cc).
  Status Reconcile(const Operand& left, const Comparison& comparison, const Operand& right,
                   Shared shared);
  Status ReconcileChoices(const Operand& left, const Comparison& comparison, const Operand& right,
                          Shared shared);
  Status ReconcileLiteral(const Operand& literal, const Operand& other);
  Status CheckOrdered(const Operand& side, const Comparison& comparison,
                      const Operand& other) const;
  std::unexpected<Error> NotAChoice(const Operand& operand, const Operand& other) const;
  void Renumber(const Operand& operand, const Parameter& other);
  Status CheckIsChoice(const Operand& literal, const Parameter& parameter) const;
  Status WantNumber(const Operand& operand, std::string_view where) const;
  Status WantTruth(const Operand& operand) const;
  std::string Describe(const Operand& operand) const;
  std::unexpected<Error> UnknownName(const Token& token) const;

  std::optional<Comparison> NextComparison() const;
  Operand Constant(std::size_t begin, std::size_t end, std::size_t code, Choice value);
  void Emit(Expression::Instruction instruction) { made_.code_.push_back(instruction); }
  std::uint32_t AddTable(std::vector<double> table);
  const Token& Next() const { return tokens_[at_]; }
  Token Take() { return tokens_[at_++]; }
  bool Skip(std::string_view word);
  Status Want(std::string_view word);
  std::string ShowNext() const;
  std::string Source(const Operand& operand) const;
  std::unexpected<Error> At(std::size_t position, std::string_view what) const {
    return ErrorAt(text_, position, what);
  }
  // Counts one level of nesting while it lives.
  class Nesting;
  Status CheckDepth() const;

  std::string_view text_;
  const Symbols& symbols_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression made_;
};

}  // namespace sluice
