#include "config/yaml_lines.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace sluice {
std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::string_view line = FirstLine(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

std::size_t IndentOf(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool SaysNothing(std::string_view line) {
  const std::string_view words = Trimmed(line);
  return words.empty() || words.starts_with('#');
}

bool IsKey(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

std::optional<YamlPair> PairOn(std::string_view line) {
  std::string_view words = Trimmed(line);
  while (words.starts_with("- ")) words = Trimmed(words.substr(2));
  const std::size_t colon = words.find(':');
  if (colon == kNowhere || !IsKey(words.substr(0, colon))) return std::nullopt;
  if (colon + 1 < words.size() && words[colon + 1] != ' ') return std::nullopt;
  return YamlPair{words.substr(0, colon), Trimmed(words.substr(colon + 1))};
}

std::size_t FindBare(std::string_view line, std::string_view what, std::size_t from) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
      continue;
    }
    if (i >= from && line.substr(i).starts_with(what)) return i;
    const bool begins = i == 0 || std::string_view(" [{,:").contains(line[i - 1]);
    if (begins && (line[i] == '"' || line[i] == '\'')) quote = line[i];
  }
  return kNowhere;
}

std::string InQuotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::string ReplaceBare(std::string_view line, std::string_view what, std::string_view by) {
  std::string made;
  std::size_t from = 0;
  for (std::size_t at = FindBare(line, what); at != kNowhere; at = FindBare(line, what, from)) {
    made += line.substr(from, at - from);
    made += by;
    from = at + what.size();
  }
  return made + std::string(line.substr(from));
}

}  // namespace sluice
