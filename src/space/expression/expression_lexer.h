#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// A word of an expression.
struct Token {
  enum class Kind { kNumber, kText, kWord, kName, kSymbol, kEnd } kind;
  // The contents of a text or of a name in backquotes; otherwise the word as it is written.
  std::string text;
  std::size_t begin;  // position in the expression, in bytes
  std::size_t end;
  double number = 0;

  bool Is(std::string_view word) const {
    return (kind == Kind::kWord || kind == Kind::kSymbol) && text == word;
  }
};

// The words of an expression, kEnd last. Fails with "column 7: expected ..." on characters that
// have no meaning, quotes that are not closed, and malformed numbers.
Result<std::vector<Token>> Tokenize(std::string_view text);

// "column 7: WHAT", for the byte at `position`; columns count characters from 1.
std::unexpected<Error> ErrorAt(std::string_view text, std::size_t position, std::string_view what);

// Whether a name can stand in an expression without backquotes.
bool IsPlainWord(std::string_view name);

}  // namespace sluice
