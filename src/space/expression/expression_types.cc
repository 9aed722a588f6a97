// Checks what may be compared with what, and has the messages about mistakes.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "space/expression/expression_parser.h"

namespace sluice {
namespace {

constexpr std::size_t kMostShown = 8;

std::vector<std::string> ChoiceTexts(const Parameter& parameter) {
  std::vector<std::string> texts;
  for (const Choice& choice : parameter.choices) texts.push_back(QuotedValue(choice));
  return texts;
}

std::string ShowChoices(const Parameter& parameter) {
  std::vector<std::string> texts = ChoiceTexts(parameter);
  if (texts.size() > kMostShown) {
    texts.resize(kMostShown);
    texts.emplace_back("...");
  }
  return Shown(Join(texts));
}

// 3 and 3.0 are the same number.
bool Same(const Choice& choice, const Choice& literal) {
  const auto* whole = std::get_if<std::int64_t>(&choice);
  return whole != nullptr ? Choice(static_cast<double>(*whole)) == literal : choice == literal;
}

std::optional<std::size_t> IndexOf(const Parameter& parameter, const Choice& literal) {
  for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
    if (Same(parameter.choices[i], literal)) return i;
  }
  return std::nullopt;
}

std::string ShowParameter(const Parameter& parameter) {
  return fmt::format("{}, one of {}", QuotedName(parameter.name), ShowChoices(parameter));
}

}  // namespace

std::string ExpressionParser::Describe(const Operand& operand) const {
  if (operand.parameter != nullptr) return ShowParameter(*operand.parameter);
  if (operand.type == Type::kChoice) return "the text " + Source(operand);
  return fmt::format("the {} {}", operand.type == Type::kNumber ? "number" : "truth value",
                     Source(operand));
}

Status ExpressionParser::WantNumber(const Operand& operand, std::string_view where) const {
  if (operand.type == Type::kNumber) return {};
  return At(operand.begin, fmt::format("expected a number{}, found {}", where, Describe(operand)));
}

Status ExpressionParser::WantTruth(const Operand& operand) const {
  if (operand.type == Type::kTruth) return {};
  const bool text = operand.type == Type::kChoice && operand.literal;
  return At(operand.begin,
            fmt::format("expected something true or false, found {}; compare it, as in {}",
                        Describe(operand), text ? "x in ['a', 'b']" : "x < 1 or x == 'a'"));
}

Status ExpressionParser::CheckIsChoice(const Operand& literal, const Parameter& parameter) const {
  if (IndexOf(parameter, *literal.literal)) return {};
  const auto* text = std::get_if<std::string>(&*literal.literal);
  const std::vector<std::string> choices = ChoiceTexts(parameter);
  const std::string typed = text != nullptr ? QuotedValue(*text) : Source(literal);
  const std::string_view nearest = Nearest(typed, choices);
  return At(literal.begin,
            fmt::format("expected one of {}, the choices of {}, found {}{}", ShowChoices(parameter),
                        QuotedName(parameter.name), Source(literal),
                        nearest.empty() ? "" : fmt::format(" (did you mean {}?)", Shown(nearest))));
}

Status ExpressionParser::Reconcile(const Operand& left, const Comparison& comparison,
                                   const Operand& right, Shared shared) {
  if (left.type == Type::kChoice || right.type == Type::kChoice)
    return ReconcileChoices(left, comparison, right, shared);
  if (left.type != right.type) {
    return At(right.begin, fmt::format("expected {} after '{}', found {}",
                                       left.type == Type::kNumber ? "a number" : "true or false",
                                       comparison.symbol, Describe(right)));
  }
  const bool equality = comparison.op == Op::kEqual || comparison.op == Op::kNotEqual;
  if (!equality) return WantNumber(left, fmt::format(" before '{}'", comparison.symbol));
  if (left.parameter != nullptr && right.literal) return CheckIsChoice(right, *left.parameter);
  if (right.parameter != nullptr && left.literal) return CheckIsChoice(left, *right.parameter);
  return {};
}

// An ordinal parameter has an order. A choice that is compared with it takes part in this order.
Status ExpressionParser::CheckOrdered(const Operand& side, const Comparison& comparison,
                                      const Operand& other) const {
  const auto ordinal = [](const Operand& operand) {
    return operand.parameter != nullptr && operand.parameter->kind == ParameterKind::kOrdinal;
  };
  if (ordinal(side)) return {};
  if (side.literal && other.parameter != nullptr && other.type == Type::kChoice) return {};
  return At(side.begin,
            fmt::format("expected numbers, or an ordinal and one of its choices, around '{}', "
                        "found {}{}",
                        comparison.symbol, Describe(side),
                        side.parameter != nullptr && side.type == Type::kChoice
                            ? "; make it an ordinal, as in {ordinal: [small, large]}, or name the "
                              "choices that are meant: NAME in ['a', 'b']"
                            : "; remove quotes around a number"));
}

// Turns both sides into positions in one list of choices.
Status ExpressionParser::ReconcileChoices(const Operand& left, const Comparison& comparison,
                                          const Operand& right, Shared shared) {
  const bool equality = comparison.op == Op::kEqual || comparison.op == Op::kNotEqual;
  if (!equality) {
    SLUICE_TRY(CheckOrdered(left, comparison, right));
    SLUICE_TRY(CheckOrdered(right, comparison, left));
  }
  // An operand of two comparisons has one number, which fits only one list of choices.
  const bool other_list = left.parameter != nullptr && right.parameter != nullptr &&
                          left.parameter->choices != right.parameter->choices;
  if ((shared.left && left.literal) || (shared.right && right.literal) ||
      (shared.right && other_list)) {
    return At(left.begin,
              "expected choices compared two at a time, found a chain; join them with and");
  }
  if (left.literal && right.literal) {
    if (left.type != right.type) {
      return At(right.begin, fmt::format("expected a text after '{}', found {}", comparison.symbol,
                                         Describe(right)));
    }
    // Equal texts get equal numbers.
    made_.code_[right.code].value = *left.literal == *right.literal ? 0 : 1;
    made_.code_[left.code].value = 0;
    return {};
  }
  if (left.literal) return ReconcileLiteral(left, right);
  if (right.literal) return ReconcileLiteral(right, left);
  if (left.type != Type::kChoice) return NotAChoice(left, right);
  if (right.type != Type::kChoice) return NotAChoice(right, left);
  if (!other_list) return {};
  if (!equality) {
    return At(right.begin,
              fmt::format("expected two ordinals of the same choices around '{}', found {}",
                          comparison.symbol, Describe(right)));
  }
  Renumber(right, *left.parameter);
  return {};
}

Status ExpressionParser::ReconcileLiteral(const Operand& literal, const Operand& other) {
  if (other.parameter == nullptr) {
    return At(literal.begin, fmt::format("expected {} to compare with {}, found {}",
                                         other.type == Type::kNumber ? "a number" : "true or false",
                                         Source(other), Describe(literal)));
  }
  SLUICE_TRY(CheckIsChoice(literal, *other.parameter));
  made_.code_[literal.code].value =
      static_cast<double>(*IndexOf(*other.parameter, *literal.literal));
  return {};
}

std::unexpected<Error> ExpressionParser::NotAChoice(const Operand& operand,
                                                    const Operand& other) const {
  return At(operand.begin, fmt::format("expected one of {}, the choices of {}, found {}",
                                       ShowChoices(*other.parameter),
                                       QuotedName(other.parameter->name), Describe(operand)));
}

// Makes the operand load positions in the choices of `other`. A choice that `other` lacks becomes
// -1, which is no position.
void ExpressionParser::Renumber(const Operand& operand, const Parameter& other) {
  std::vector<double> table;
  for (const Choice& choice : operand.parameter->choices) {
    const auto* whole = std::get_if<std::int64_t>(&choice);
    const auto index =
        IndexOf(other, whole != nullptr ? Choice(static_cast<double>(*whole)) : choice);
    table.push_back(index ? static_cast<double>(*index) : -1);
  }
  auto& load = made_.code_[operand.code];
  load.op = Op::kLoadTable;
  load.target = AddTable(std::move(table));
}

std::unexpected<Error> ExpressionParser::UnknownName(const Token& token) const {
  std::vector<std::string> known = {"true", "false"};
  for (const Parameter& parameter : symbols_.parameters()) known.push_back(parameter.name);
  const std::string found = fmt::format("expected a parameter, found {}", Shown(token.text));
  for (const Parameter& parameter : symbols_.parameters()) {
    if (IndexOf(parameter, token.text)) {
      return At(token.begin, fmt::format("{}; write {} for the choice of {}", found,
                                         QuotedValue(token.text), QuotedName(parameter.name)));
    }
  }
  for (const Parameter& parameter : symbols_.parameters()) {
    if (!IsPlainWord(parameter.name) && parameter.name.starts_with(token.text) &&
        text_.substr(token.begin).starts_with(parameter.name)) {
      std::string whole(text_);
      whole.replace(token.begin, parameter.name.size(), QuotedName(parameter.name));
      return At(token.begin, fmt::format("{}; write \"{}\", with the quotes", found, whole));
    }
  }
  const std::string nearest = DidYouMean(token.text, known);
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(known.size(), kMost + 2);
  const std::string others =
      shown == 2
          ? ""
          : fmt::format(
                "; parameters: {}{} (values that trials report cannot be used, since they "
                "are not known before the trials run)",
                Join(std::span(known).subspan(2, shown - 2)), shown < known.size() ? ", ..." : "");
  return At(token.begin, found + (nearest.empty() ? others : nearest));
}

}  // namespace sluice
