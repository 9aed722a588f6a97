#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// These look at single lines of a YAML text, without a parser. They are for texts that the parser
// could not read.

constexpr std::size_t kNowhere = std::string_view::npos;

std::vector<std::string_view> LinesOf(std::string_view text);
// The number of spaces at the beginning of the line.
std::size_t IndentOf(std::string_view line);
// Whether the line is blank or a comment.
bool SaysNothing(std::string_view line);
// Whether the text could be a key without quotes.
bool IsKey(std::string_view text);

// "key: value", or "- key: value"; the value may be empty.
struct YamlPair {
  std::string_view key;
  std::string_view value;
};
std::optional<YamlPair> PairOn(std::string_view line);

// Where `what` first occurs outside quotes, at `from` or later. kNowhere if it does not occur.
std::size_t FindBare(std::string_view line, std::string_view what, std::size_t from = 0);
// The line with `by` in place of each occurrence of `what` outside quotes.
std::string ReplaceBare(std::string_view line, std::string_view what, std::string_view by);

// The text in single quotes, by YAML's rules.
std::string InQuotes(std::string_view text);

}  // namespace sluice
