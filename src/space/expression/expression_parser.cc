#include "space/expression/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"

namespace sluice {

class ExpressionParser::Nesting {
 public:
  explicit Nesting(ExpressionParser& parser) : parser_(parser) { ++parser_.depth_; }
  ~Nesting() { --parser_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  ExpressionParser& parser_;
};

Result<Expression> Expression::Parse(std::string_view text, const Symbols& symbols) {
  return ExpressionParser(text, symbols).Run();
}

namespace {

// Advice for words of other languages.
std::string_view CureOf(std::string_view word) {
  if (word == ",") return "; write 'and', or a list of expressions";
  if (word == "AND") return "; write and";
  if (word == "OR") return "; write or";
  if (word == "is") return "; write ==";
  if (word == "IN") return "; write in";
  if (word == "if" || word == "then" || word == "implies")
    return "; write 'not A or B' for 'B if A'";
  return "";
}

}  // namespace

Result<Expression> ExpressionParser::Run() {
  if (text_.size() > Expression::kLongestText) {
    return InvalidArgument(fmt::format("expected an expression of at most {} bytes, found {}",
                                       Expression::kLongestText, text_.size()));
  }
  SLUICE_ASSIGN(tokens_, Tokenize(text_));
  SLUICE_ASSIGN(const Operand whole, Or());
  if (Next().kind != Token::Kind::kEnd)
    return At(Next().begin, fmt::format("expected an operator or the end, found {}{}", ShowNext(),
                                        CureOf(Next().text)));
  SLUICE_TRY(WantTruth(whole));
  std::set<std::size_t> mentions;
  for (const auto& instruction : made_.code_) {
    if (instruction.op == Op::kLoad || instruction.op == Op::kLoadTable)
      mentions.insert(instruction.slot);
  }
  made_.mentions_.assign(mentions.begin(), mentions.end());
  if (made_.StackDepth() > Expression::kDeepestStack)
    return InvalidArgument("expected an expression less nested");
  return std::move(made_);
}

Result<ExpressionParser::Operand> ExpressionParser::Joined(
    Result<Operand> (ExpressionParser::*part)(), Op op) {
  const std::string_view word = op == Op::kAnd ? "and" : "or";
  SLUICE_ASSIGN(Operand first, (this->*part)());
  if (!Next().Is(word)) return first;
  SLUICE_TRY(WantTruth(first));
  const bool decides = op == Op::kOr;
  bool constant = first.literal.has_value();
  bool value = constant && std::get<bool>(*first.literal);
  std::size_t end = first.end;
  std::vector<std::size_t> jumps;
  while (Skip(word)) {
    jumps.push_back(made_.code_.size());
    Emit({.op = op});
    SLUICE_ASSIGN(const Operand next, (this->*part)());
    SLUICE_TRY(WantTruth(next));
    constant = constant && next.literal;
    if (constant && value != decides) value = std::get<bool>(*next.literal);
    end = next.end;
  }
  if (constant) return Constant(first.begin, end, first.code, value);
  for (const std::size_t jump : jumps)
    made_.code_[jump].target = static_cast<std::uint32_t>(made_.code_.size());
  return Operand{Type::kTruth, first.begin, end, first.code};
}

Result<ExpressionParser::Operand> ExpressionParser::Or() {
  const Nesting nesting(*this);
  SLUICE_TRY(CheckDepth());
  return Joined(&ExpressionParser::And, Op::kOr);
}

Result<ExpressionParser::Operand> ExpressionParser::And() {
  return Joined(&ExpressionParser::Not, Op::kAnd);
}

Result<ExpressionParser::Operand> ExpressionParser::Not() {
  const std::size_t begin = Next().begin;
  if (!Skip("not")) return Compared();
  const Nesting nesting(*this);
  SLUICE_TRY(CheckDepth());
  SLUICE_ASSIGN(const Operand operand, Not());
  SLUICE_TRY(WantTruth(operand));
  if (operand.literal)
    return Constant(begin, operand.end, operand.code, !std::get<bool>(*operand.literal));
  Emit({.op = Op::kNot});
  return Operand{Type::kTruth, begin, operand.end, operand.code};
}

std::optional<ExpressionParser::Comparison> ExpressionParser::NextComparison() const {
  static constexpr std::array<std::pair<std::string_view, Op>, 6> kComparisons = {
      {{"==", Op::kEqual},
       {"!=", Op::kNotEqual},
       {"<", Op::kLess},
       {"<=", Op::kLessEqual},
       {">", Op::kGreater},
       {">=", Op::kGreaterEqual}}};
  for (const auto& [symbol, op] : kComparisons) {
    if (Next().Is(symbol)) return Comparison{op, symbol};
  }
  return std::nullopt;
}

Result<ExpressionParser::Operand> ExpressionParser::Compared() {
  SLUICE_ASSIGN(Operand left, Sum());
  const bool negated = Next().Is("not") && tokens_[at_ + 1].Is("in");
  if (negated) ++at_;
  if (Skip("in")) return Membership(left, negated);
  Operand first = left;
  bool constant = first.literal.has_value();
  bool value = true;
  bool compared = false;
  std::vector<std::size_t> jumps;
  while (const auto comparison = NextComparison()) {
    ++at_;
    SLUICE_ASSIGN(const Operand right, Sum());
    const bool last = !NextComparison();
    SLUICE_TRY(Reconcile(left, *comparison, right, {compared, !last}));
    constant = constant && right.literal;
    if (constant) {
      const auto side = [&](const Operand& operand) { return made_.code_[operand.code].value; };
      value = value && Expression::Binary(comparison->op, side(left), side(right)) == 1;
    }
    if (!last) jumps.push_back(made_.code_.size());
    Emit({.op = last ? comparison->op : Op::kChain, .comparison = comparison->op});
    compared = true;
    left = right;
  }
  if (!compared) return first;
  if (constant) return Constant(first.begin, left.end, first.code, value);
  for (const std::size_t jump : jumps)
    made_.code_[jump].target = static_cast<std::uint32_t>(made_.code_.size());
  return Operand{Type::kTruth, first.begin, left.end, first.code};
}

Result<ExpressionParser::Operand> ExpressionParser::Membership(const Operand& left, bool negated) {
  SLUICE_TRY(Want("["));
  std::vector<double> table;
  do {
    SLUICE_ASSIGN(const Operand item, Sum());
    if (!item.literal) {
      return At(item.begin, fmt::format("expected constants in a list, found {}; write == and or",
                                        Describe(item)));
    }
    SLUICE_TRY(Reconcile(left, {Op::kEqual, "in"}, item, {}));
    table.push_back(made_.code_[item.code].value);
    made_.code_.resize(item.code);
  } while (Skip(","));
  const std::size_t end = Next().end;
  SLUICE_TRY(Want("]"));
  if (left.literal) {
    const bool found = std::ranges::find(table, made_.code_[left.code].value) != table.end();
    return Constant(left.begin, end, left.code, found != negated);
  }
  Emit({.op = Op::kIn, .target = AddTable(std::move(table))});
  if (negated) Emit({.op = Op::kNot});
  return Operand{Type::kTruth, left.begin, end, left.code};
}

Result<ExpressionParser::Operand> ExpressionParser::Arithmetic(const Operand& left, Op op,
                                                               const Token& symbol,
                                                               const Operand& right) {
  SLUICE_TRY(WantNumber(left, fmt::format(" before '{}'", symbol.text)));
  SLUICE_TRY(WantNumber(right, fmt::format(" after '{}'", symbol.text)));
  const bool divides = op == Op::kDivide || op == Op::kFloorDivide || op == Op::kRemainder;
  if (divides && right.literal && std::get<double>(*right.literal) == 0) {
    return At(right.begin, fmt::format("expected a divisor other than 0 after '{}', found {}",
                                       symbol.text, Source(right)));
  }
  if (left.literal && right.literal) {
    const double value =
        Expression::Binary(op, std::get<double>(*left.literal), std::get<double>(*right.literal));
    Operand folded = Constant(left.begin, right.end, left.code, value);
    if (std::isfinite(value)) return folded;
    return At(left.begin, fmt::format("expected a finite number, found {}", Shown(Source(folded))));
  }
  Emit({.op = op});
  return Operand{Type::kNumber, left.begin, right.end, left.code};
}

Result<ExpressionParser::Operand> ExpressionParser::Sum() {
  SLUICE_ASSIGN(Operand left, Product());
  while (Next().Is("+") || Next().Is("-")) {
    const Token symbol = Take();
    SLUICE_ASSIGN(const Operand right, Product());
    SLUICE_ASSIGN(left, Arithmetic(left, symbol.Is("+") ? Op::kAdd : Op::kSubtract, symbol, right));
  }
  return left;
}

Result<ExpressionParser::Operand> ExpressionParser::Product() {
  SLUICE_ASSIGN(Operand left, Signed());
  while (Next().Is("*") || Next().Is("/") || Next().Is("//") || Next().Is("%")) {
    const Token symbol = Take();
    const Op op = symbol.Is("*")    ? Op::kMultiply
                  : symbol.Is("/")  ? Op::kDivide
                  : symbol.Is("//") ? Op::kFloorDivide
                                    : Op::kRemainder;
    SLUICE_ASSIGN(const Operand right, Signed());
    SLUICE_ASSIGN(left, Arithmetic(left, op, symbol, right));
  }
  return left;
}

Result<ExpressionParser::Operand> ExpressionParser::Signed() {
  if (!Next().Is("-") && !Next().Is("+")) return Power();
  const Nesting nesting(*this);
  SLUICE_TRY(CheckDepth());
  const Token sign = Take();
  SLUICE_ASSIGN(Operand operand, Signed());
  SLUICE_TRY(WantNumber(operand, fmt::format(" after '{}'", sign.text)));
  operand.begin = sign.begin;
  operand.parameter = nullptr;
  if (sign.Is("+")) return operand;
  if (operand.literal)
    return Constant(sign.begin, operand.end, operand.code, -std::get<double>(*operand.literal));
  Emit({.op = Op::kNegate});
  return operand;
}

// ** binds tighter than a sign on its left, and looser than a sign on its right.
Result<ExpressionParser::Operand> ExpressionParser::Power() {
  SLUICE_ASSIGN(Operand base, Primary());
  if (!Next().Is("**")) return base;
  const Nesting nesting(*this);
  SLUICE_TRY(CheckDepth());
  const Token symbol = Take();
  SLUICE_ASSIGN(const Operand exponent, Signed());
  return Arithmetic(base, Op::kPower, symbol, exponent);
}

std::uint32_t ExpressionParser::AddTable(std::vector<double> table) {
  made_.tables_.push_back(std::move(table));
  return static_cast<std::uint32_t>(made_.tables_.size() - 1);
}

bool ExpressionParser::Skip(std::string_view word) {
  if (!Next().Is(word)) return false;
  ++at_;
  return true;
}

Status ExpressionParser::Want(std::string_view word) {
  if (Skip(word)) return {};
  const bool parenthesis = word == "[" && Next().text == "(";
  return At(Next().begin, fmt::format("expected '{}', found {}{}", word, ShowNext(),
                                      parenthesis   ? "; write [1, 2]"
                                      : word == "[" ? "; write a list, as in x in ['a', 'b']"
                                                    : ""));
}

std::string ExpressionParser::ShowNext() const {
  const Token& next = Next();
  if (next.kind == Token::Kind::kEnd) return "the end";
  return Shown(text_.substr(next.begin, next.end - next.begin));
}

std::string ExpressionParser::Source(const Operand& operand) const {
  return Shown(text_.substr(operand.begin, operand.end - operand.begin));
}

Status ExpressionParser::CheckDepth() const {
  if (depth_ <= Expression::kDeepest) return {};
  return At(Next().begin, fmt::format("expected at most {} levels of parentheses, found more",
                                      Expression::kDeepest));
}

}  // namespace sluice
