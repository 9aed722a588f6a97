#include "space/expression/expression_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 6> kReserved = {"or", "and", "not", "in", "true", "false"};
// Longer symbols come first, because the first symbol that fits is taken.
constexpr std::array<std::string_view, 18> kSymbols = {
    "==", "!=", "<=", ">=", "//", "**", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ","};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Advice for symbols of other languages.
std::string Advice(std::string_view rest) {
  if (const std::string other = Lookalike(rest.substr(0, 3)); !other.empty())
    return fmt::format("; {}: type it again", other);
  if (rest.starts_with("=>")) return "; write >=";
  if (rest.starts_with("=<")) return "; write <=";
  if (rest.starts_with("=")) return "; write == to compare";
  if (rest.starts_with("&")) return "; write and";
  if (rest.starts_with("|")) return "; write or";
  if (rest.starts_with("!")) return "; write not";
  if (rest.starts_with("^")) return "; write ** for a power";
  return "";
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
      if (at_ == text_.size()) break;
      SLUICE_ASSIGN(Token token, Next());
      tokens.push_back(std::move(token));
    }
    tokens.push_back({Token::Kind::kEnd, "", at_, at_});
    return tokens;
  }

 private:
  Result<Token> Next() {
    const char c = text_[at_];
    if (IsLetter(c)) return Word();
    if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1])))
      return Number();
    if (c == '\'' || c == '"') return Quoted(Token::Kind::kText);
    if (c == '`') return Quoted(Token::Kind::kName);
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_).starts_with(symbol))
        return Take(Token::Kind::kSymbol, at_ + symbol.size());
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    return ErrorAt(text_, at_,
                   fmt::format("expected a name, a value or an operator, found '{}'{}",
                               Shown(text_.substr(at_, end - at_)), Advice(text_.substr(at_))));
  }

  Token Take(Token::Kind kind, std::size_t end) {
    const std::size_t begin = std::exchange(at_, end);
    return {kind, std::string(text_.substr(begin, end - begin)), begin, end};
  }

  Token Word() {
    std::size_t end = at_;
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]) || text_[end] == '.'))
      ++end;
    return Take(Token::Kind::kWord, end);
  }

  Result<Token> Number() {
    const char* last = text_.data() + text_.size();
    double value = 0;
    const auto [rest, error] = std::from_chars(text_.data() + at_, last, value);
    const std::size_t end = static_cast<std::size_t>(rest - text_.data());
    // The end, counting also the letters, digits and dots directly behind the number.
    std::size_t whole = end;
    while (whole < text_.size() &&
           (IsLetter(text_[whole]) || IsDigit(text_[whole]) || text_[whole] == '.'))
      ++whole;
    if (error != std::errc() || whole != end) {
      return ErrorAt(
          text_, at_,
          fmt::format("expected a number, found {}", Shown(text_.substr(at_, whole - at_))));
    }
    Token token = Take(Token::Kind::kNumber, end);
    token.number = value;
    return token;
  }

  // The character after a backslash is taken as it is.
  Result<Token> Quoted(Token::Kind kind) {
    const char quote = text_[at_];
    std::string held;
    for (std::size_t end = at_ + 1; end < text_.size(); ++end) {
      if (text_[end] == quote) {
        Token token = Take(kind, end + 1);
        token.text = std::move(held);
        return token;
      }
      if (text_[end] == '\\' && end + 1 < text_.size()) ++end;
      held += text_[end];
    }
    return ErrorAt(text_, at_,
                   fmt::format("expected another {} that closes this one, found none", quote));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

std::unexpected<Error> ErrorAt(std::string_view text, std::size_t position, std::string_view what) {
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const auto before = std::ranges::count_if(text.substr(0, position), starts);
  return InvalidArgument(fmt::format("column {}: {}", before + 1, what));
}

bool IsPlainWord(std::string_view name) {
  const auto inner = [](char c) { return IsLetter(c) || IsDigit(c) || c == '.'; };
  return !name.empty() && IsLetter(name.front()) && std::ranges::all_of(name, inner) &&
         std::ranges::find(kReserved, name) == kReserved.end();
}

}  // namespace sluice
