// The operands of an expression: values, parameters, functions, parentheses.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "space/expression/expression_parser.h"

namespace sluice {

Result<ExpressionParser::Operand> ExpressionParser::Primary() {
  const Token token = Take();
  const std::size_t code = made_.code_.size();
  switch (token.kind) {
    case Token::Kind::kNumber: return Constant(token.begin, token.end, code, token.number);
    case Token::Kind::kText: return Constant(token.begin, token.end, code, token.text);
    case Token::Kind::kName: return Name(token);
    case Token::Kind::kWord:
      if (token.Is("true") || token.Is("false"))
        return Constant(token.begin, token.end, code, token.Is("true"));
      if (Next().Is("(")) return Call(token);
      if (IsPlainWord(token.text)) return Name(token);
      break;
    case Token::Kind::kSymbol:
      if (!token.Is("(")) break;
      {
        SLUICE_ASSIGN(Operand inner, Or());
        inner.begin = token.begin;
        inner.end = Next().end;
        SLUICE_TRY(Want(")"));
        return inner;
      }
    case Token::Kind::kEnd: break;
  }
  --at_;
  return At(token.begin, fmt::format("expected a parameter or a value, found {}", ShowNext()));
}

Result<ExpressionParser::Operand> ExpressionParser::Name(const Token& token) {
  const auto index = symbols_.Find(token.text);
  if (!index) return UnknownName(token);
  const Parameter& parameter = symbols_.parameters()[*index];
  Operand operand{Type::kNumber, token.begin, token.end, made_.code_.size()};
  const auto slot = static_cast<std::uint32_t>(*index);
  if (!parameter.has_choices()) {
    Emit({.op = Op::kLoad, .slot = slot});
    return operand;
  }
  operand.parameter = &parameter;
  std::vector<double> numbers;
  std::vector<double> truths;
  for (const Choice& choice : parameter.choices) {
    if (const auto* whole = std::get_if<std::int64_t>(&choice))
      numbers.push_back(static_cast<double>(*whole));
    if (const auto* number = std::get_if<double>(&choice)) numbers.push_back(*number);
    if (const auto* truth = std::get_if<bool>(&choice)) truths.push_back(*truth ? 1 : 0);
  }
  const std::size_t count = parameter.choices.size();
  if (numbers.size() != count && truths.size() != count) {
    operand.type = Type::kChoice;
    Emit({.op = Op::kLoad, .slot = slot});
    return operand;
  }
  operand.type = numbers.size() == count ? Type::kNumber : Type::kTruth;
  Emit({.op = Op::kLoadTable,
        .slot = slot,
        .target = AddTable(numbers.size() == count ? std::move(numbers) : std::move(truths))});
  return operand;
}

Result<ExpressionParser::Operand> ExpressionParser::Function(const Operand& argument, Op op) {
  if (!argument.literal) {
    Emit({.op = op});
    return Operand{Type::kNumber, argument.begin, argument.end, argument.code};
  }
  const double value = Expression::Unary(op, std::get<double>(*argument.literal));
  if (!std::isfinite(value)) {
    return At(argument.begin, fmt::format("expected a number that this function takes, found {}",
                                          Source(argument)));
  }
  return Constant(argument.begin, argument.end, argument.code, value);
}

Result<ExpressionParser::Operand> ExpressionParser::Call(const Token& name) {
  static constexpr std::array<std::pair<std::string_view, Op>, 11> kFunctions = {
      {{"min", Op::kMin},
       {"max", Op::kMax},
       {"abs", Op::kAbs},
       {"log", Op::kLog},
       {"log2", Op::kLog2},
       {"log10", Op::kLog10},
       {"exp", Op::kExp},
       {"sqrt", Op::kSqrt},
       {"floor", Op::kFloor},
       {"ceil", Op::kCeil},
       {"round", Op::kRound}}};
  const auto* const found =
      std::ranges::find(kFunctions, name.text, &std::pair<std::string_view, Op>::first);
  if (found == kFunctions.end()) {
    std::vector<std::string> known;
    for (const auto& [word, op] : kFunctions) known.emplace_back(word);
    return At(name.begin, fmt::format("expected one of the functions {}, found {}{}", Join(known),
                                      Shown(name.text), DidYouMean(name.text, known)));
  }
  const Op op = found->second;
  const bool many = op == Op::kMin || op == Op::kMax;
  SLUICE_TRY(Want("("));
  SLUICE_ASSIGN(Operand result, Or());
  SLUICE_TRY(WantNumber(result, fmt::format(" in {}()", name.text)));
  int count = 1;
  while (Next().Is(",")) {
    const Token comma = Take();
    if (!many) {
      return At(comma.begin, fmt::format("expected one argument of {}, found more", name.text));
    }
    SLUICE_ASSIGN(const Operand next, Or());
    SLUICE_TRY(WantNumber(next, fmt::format(" in {}()", name.text)));
    SLUICE_ASSIGN(result, Arithmetic(result, op, comma, next));
    ++count;
  }
  if (many && count == 1)
    return At(Next().begin,
              fmt::format("expected two arguments or more of {}, found one", name.text));
  if (!many) {
    SLUICE_ASSIGN(result, Function(result, op));
  }
  result.begin = name.begin;
  result.end = Next().end;
  result.parameter = nullptr;
  SLUICE_TRY(Want(")"));
  return result;
}

// Truths are 1 and 0. A text gets its number later, when the parameter it is compared with is
// known.
ExpressionParser::Operand ExpressionParser::Constant(std::size_t begin, std::size_t end,
                                                     std::size_t code, Choice value) {
  made_.code_.resize(code, {.op = Op::kConstant});
  double number = 0;
  Type type = Type::kChoice;
  if (const auto* held = std::get_if<double>(&value)) {
    number = *held;
    type = Type::kNumber;
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    number = *truth ? 1 : 0;
    type = Type::kTruth;
  }
  Emit({.op = Op::kConstant, .value = number});
  return {type, begin, end, code, std::move(value)};
}

}  // namespace sluice
