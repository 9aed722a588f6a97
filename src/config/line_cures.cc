#include "config/line_cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/scalar.h"
#include "config/yaml_lines.h"

namespace sluice {
namespace {

// "0, 2 or 5"
std::string AnyOf(std::vector<std::size_t> numbers) {
  const std::size_t last = numbers.back();
  numbers.pop_back();
  return numbers.empty() ? fmt::format("{}", last)
                         : fmt::format("{} or {}", fmt::join(numbers, ", "), last);
}

}  // namespace

std::vector<Cure> MissingBlank(const FaultyText& faulty) {
  std::vector<Cure> cures;
  for (const int at : {faulty.line(), faulty.Before(faulty.line())}) {
    const std::string_view words = Trimmed(faulty.At(at));
    const std::size_t colon = words.find(':');
    if (colon == kNowhere || colon + 1 >= words.size() || !IsKey(words.substr(0, colon))) continue;
    const std::string_view value = words.substr(colon + 1);
    if (value.starts_with(' ') || value.starts_with("//")) continue;
    const std::string cured = fmt::format("{}: {}", words.substr(0, colon), value);
    cures.push_back({at,
                     fmt::format("expected a space after the colon, found '{}'; write '{}'",
                                 Shown(words), Shown(cured)),
                     faulty.Indented(at, cured)});
  }
  return cures;
}

std::vector<Cure> MissingColon(const FaultyText& faulty) {
  std::vector<Cure> cures;
  for (const int at : {faulty.line(), faulty.Before(faulty.line())}) {
    const std::string_view words = at > 0 ? Trimmed(faulty.At(at)) : std::string_view();
    const std::string_view key = words.substr(0, words.find(' '));
    if (!IsKey(key) || key.starts_with('-')) continue;
    std::string_view value = Trimmed(words.substr(key.size()));
    if (value.starts_with("= ")) value = Trimmed(value.substr(2));
    const std::string cured = fmt::format("{}:{}{}", key, value.empty() ? "" : " ", value);
    cures.push_back({at,
                     fmt::format("expected a colon after '{}', found none; write '{}'", Shown(key),
                                 Shown(cured)),
                     faulty.Indented(at, cured)});
  }
  return cures;
}

std::vector<Cure> ColonBeforeBracket(const FaultyText& faulty) {
  const std::string_view words = Trimmed(faulty.At(faulty.line()));
  const std::size_t open = words.find_first_of("{[");
  if (open == kNowhere || open == 0) return {};
  std::string_view key = Trimmed(words.substr(0, open));
  if (key.ends_with('=')) key = Trimmed(key.substr(0, key.size() - 1));
  if (!IsKey(key)) return {};
  const std::string cured = fmt::format("{}: {}", key, words.substr(open));
  return {
      {faulty.line(),
       fmt::format("expected a colon after '{}', found none; write '{}'", Shown(key), Shown(cured)),
       faulty.Indented(faulty.line(), cured)}};
}

std::vector<Cure> StrayDash(const FaultyText& faulty) {
  const int before = faulty.Before(faulty.line());
  const std::string_view words = Trimmed(faulty.At(faulty.line()));
  if (before > 0 && !words.starts_with("- ") && Trimmed(faulty.At(before)).starts_with("- ") &&
      PairOn(faulty.At(faulty.line())) &&
      IndentOf(faulty.At(faulty.line())) == IndentOf(faulty.At(before))) {
    return {{before,
             fmt::format("expected '- ' before all of these keys or before none, found it before "
                         "this key but not before '{}'; remove the '- '",
                         Shown(PairOn(faulty.At(faulty.line()))->key)),
             ""}};
  }
  if (before == 0 || !words.starts_with("- ") || Trimmed(faulty.At(before)).starts_with("- "))
    return {};
  if (IndentOf(faulty.At(faulty.line())) > IndentOf(faulty.At(before))) return {};
  return {{faulty.line(),
           fmt::format("expected another key, found '{}', an item of a list; remove the '- '",
                       Shown(words)),
           faulty.Indented(faulty.line(), Trimmed(words.substr(2)))}};
}

std::vector<Cure> DashWithoutBlank(const FaultyText& faulty) {
  std::vector<Cure> cures;
  for (const int at : {faulty.line(), faulty.Before(faulty.line())}) {
    const std::string_view words = at > 0 ? Trimmed(faulty.At(at)) : std::string_view();
    if (words.size() < 2 || words[0] != '-' || words[1] == ' ' || words[1] == '-') continue;
    const std::string cured = fmt::format("- {}", words.substr(1));
    cures.push_back({at,
                     fmt::format("expected a space after the '-' of an item, found '{}'; write "
                                 "'{}'",
                                 Shown(words), Shown(cured)),
                     faulty.Indented(at, cured)});
  }
  return cures;
}

std::vector<Cure> UnlikeIndentation(const FaultyText& faulty) {
  const int before = faulty.Before(faulty.line());
  if (before == 0 || SaysNothing(faulty.At(faulty.line()))) return {};
  const std::size_t mine = IndentOf(faulty.At(faulty.line()));
  const std::size_t last = IndentOf(faulty.At(before));
  const auto pair = PairOn(faulty.At(before));
  const bool holds = pair && !pair->value.empty();
  if (mine > last && holds && PairOn(faulty.At(faulty.line())) &&
      std::isalpha(static_cast<unsigned char>(pair->value.front())) != 0 && pair->value != "true" &&
      pair->value != "false") {
    const YamlPair below = *PairOn(faulty.At(faulty.line()));
    return {{faulty.line(),
             fmt::format("expected nothing below '{0}', which has the value '{1}' on its line, "
                         "found '{2}'; write '{0}: {{name: {1}, {2}: {3}}}' if '{2}' is an option "
                         "of '{1}'; otherwise indent both lines equally",
                         Shown(pair->key), Shown(pair->value), Shown(below.key),
                         below.value.empty() ? "..." : Shown(below.value)),
             ""}};
  }
  if (mine > last && holds && PairOn(faulty.At(faulty.line()))) {
    return {{faulty.line(),
             fmt::format("expected {} spaces before '{}', as before the key on line {}, found "
                         "{}; indent both keys equally: a key with a value on its own line cannot "
                         "have other keys below it",
                         last, Shown(PairOn(faulty.At(faulty.line()))->key), before, mine),
             std::string(faulty.At(before).substr(0, last)) +
                 std::string(Trimmed(faulty.At(faulty.line())))}};
  }
  if (mine >= last) return {};
  std::vector<std::size_t> levels;
  for (int at = before; at > 0; at = faulty.Before(at)) {
    const std::size_t indent = IndentOf(faulty.At(at));
    if (indent == mine) return {};
    if (levels.empty() || indent < levels.back()) levels.push_back(indent);
  }
  std::ranges::reverse(levels);
  return {{faulty.line(),
           fmt::format("expected this line to be indented by {} spaces, like a line above it, "
                       "found {}; indent it like the keys of the same section",
                       AnyOf(levels), mine),
           ""}};
}

std::vector<Cure> ForeignComment(const FaultyText& faulty) {
  std::vector<Cure> cures;
  for (const int at : {faulty.line(), faulty.Before(faulty.line())}) {
    const std::string_view words = at > 0 ? Trimmed(faulty.At(at)) : std::string_view();
    for (const std::string_view mark : {"//", "-- ", "/*", ";"}) {
      if (!words.starts_with(mark)) continue;
      cures.push_back(
          {at, fmt::format("expected a key, found '{}'; a comment begins with '#'", Shown(words)),
           fmt::format("#{}", faulty.At(at))});
    }
  }
  return cures;
}

std::vector<Cure> LookalikeCharacter(const FaultyText& faulty) {
  std::vector<Cure> cures;
  for (const int at : {faulty.line(), faulty.Before(faulty.line())}) {
    const std::string other = Lookalike(faulty.At(at));
    if (other.empty()) continue;
    std::string plain = WithoutLookalikes(faulty.At(at));
    const std::size_t colon = plain.find(':');
    if (colon != kNowhere && colon + 1 < plain.size() && plain[colon + 1] != ' ')
      plain.insert(colon + 1, " ");
    cures.push_back(
        {at, fmt::format("{}, although it looks like it; write '{}'", other, Shown(Trimmed(plain))),
         plain});
  }
  return cures;
}

}  // namespace sluice
