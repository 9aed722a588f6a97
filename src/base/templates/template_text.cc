#include "base/templates/template_text.h"

#include <algorithm>

namespace sluice {

TemplatePiece TakePiece(std::string_view& rest) {
  const auto take = [&](std::size_t length) {
    const std::string_view taken = rest.substr(0, length);
    rest.remove_prefix(taken.size());
    return taken;
  };
  if (rest.starts_with("{{") || rest.starts_with("}}"))
    return {TemplatePiece::Kind::kText, take(2).substr(1)};
  if (rest.front() == '{') {
    const std::size_t end = rest.find_first_of("{}", 1);
    if (end == std::string_view::npos || rest[end] != '}')
      return {TemplatePiece::Kind::kLoneBrace, take(1)};
    const std::string_view whole = take(end + 1);
    return {TemplatePiece::Kind::kWord, whole.substr(1, whole.size() - 2)};
  }
  if (rest.front() == '}') return {TemplatePiece::Kind::kLoneBrace, take(1)};
  return {TemplatePiece::Kind::kText, take(rest.find_first_of("{}"))};
}

std::string Expand(std::string_view text, const TemplateValues& values) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const TemplatePiece piece = TakePiece(rest);
    if (piece.kind != TemplatePiece::Kind::kWord) {
      out += piece.text;
    } else if (const auto found = values.find(std::string(piece.text)); found != values.end()) {
      out += found->second;
    }
  }
  return out;
}

bool HasValues(std::string_view text, const TemplateValues& values) {
  return std::ranges::all_of(
      WordsIn(text), [&](std::string_view word) { return values.contains(std::string(word)); });
}

bool HasWord(std::string_view text, std::string_view word) {
  const std::vector<std::string_view> words = WordsIn(text);
  return std::ranges::find(words, word) != words.end();
}

std::vector<std::string_view> WordsIn(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::string_view rest = text; !rest.empty();) {
    const TemplatePiece piece = TakePiece(rest);
    if (piece.kind == TemplatePiece::Kind::kWord) words.push_back(piece.text);
  }
  return words;
}

std::string EscapeTemplate(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  return escaped;
}

}  // namespace sluice
