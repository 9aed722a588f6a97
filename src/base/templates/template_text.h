#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Texts that hold {words}, each to be replaced by a value. {{ and }} stand for braces. Which words
// there are is decided by the code that uses these functions.

namespace sluice {

// The text that replaces each word, by the word.
using TemplateValues = std::map<std::string, std::string>;

// A piece of a text that is cut at its words.
struct TemplatePiece {
  enum class Kind : std::uint8_t { kText, kWord, kLoneBrace } kind = Kind::kText;
  std::string_view text;  // of a word: without its braces
};

// Takes the next piece off the front of a text that is not empty. {{ and }} become a piece that is
// one brace. A brace without a partner is a piece of its own.
TemplatePiece TakePiece(std::string_view& rest);

// Replaces each word by its value. A word without a value is replaced by nothing. Braces inside
// values are not expanded again.
std::string Expand(std::string_view text, const TemplateValues& values);

// Whether each word of a text has a value.
bool HasValues(std::string_view text, const TemplateValues& values);

// Whether a text has this word in braces.
bool HasWord(std::string_view text, std::string_view word);

// The words of a text, in its order. A word that is there twice is listed twice.
std::vector<std::string_view> WordsIn(std::string_view text);

// Escapes a text, so that its braces stand for plain braces.
std::string EscapeTemplate(std::string_view text);

}  // namespace sluice
