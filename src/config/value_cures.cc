#include "config/value_cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"
#include "config/scalar.h"
#include "config/yaml_lines.h"

namespace sluice {

std::vector<Cure> ComparisonBehindKey(const FaultyText& faulty) {
  const auto pair = PairOn(faulty.At(faulty.line()));
  if (!pair || pair->value.empty()) return {};
  const std::string_view number =
      Trimmed(pair->value.substr(pair->value.starts_with(">=") ? 2 : 1));
  const std::string meant = ParseNumber(number) ? std::string(number) : InQuotes(pair->value);
  return {{faulty.line(),
           fmt::format("expected a value, found '{}' first, which begins a text of several lines "
                       "in YAML; write '{}: {}'",
                       pair->value.substr(0, 1), Shown(pair->key), Shown(meant)),
           faulty.WithValue(*pair, meant)}};
}

std::vector<Cure> ItemBehindKey(const FaultyText& faulty) {
  const auto pair = PairOn(faulty.At(faulty.line()));
  if (!pair) return {};
  const std::string_view item = Trimmed(pair->value.substr(pair->value.starts_with('-') ? 1 : 0));
  const std::string what = fmt::format(
      "expected the first item of a list on a line of its own, found it behind '{}:'; write it "
      "below",
      Shown(pair->key));
  return {{faulty.line(), fmt::format("{}, or '{}: [{}]'", what, Shown(pair->key), Shown(item)),
           faulty.WithValue(*pair, fmt::format("[{}]", item))},
          {faulty.line(), fmt::format("{}, as '- {}'", what, Shown(item)), ""}};
}

std::vector<Cure> ColonInText(const FaultyText& faulty) {
  const auto pair = PairOn(faulty.At(faulty.line()));
  if (!pair || pair->value.empty() || std::string_view("'\"[{|>").contains(pair->value.front()))
    return {};
  if (!pair->value.contains(": ") && !pair->value.ends_with(':')) return {};
  std::vector<Cure> cures;
  const std::size_t colon = pair->value.find(": ");
  if (colon != kNowhere && IsKey(pair->value.substr(0, colon))) {  // "n: int: [1, 4]"
    std::string_view inner = pair->value;
    if (inner.ends_with('}')) inner.remove_suffix(1);
    cures.push_back({faulty.line(),
                     fmt::format("expected one ': ' on the line, found two; put braces around "
                                 "what belongs to '{0}': {0}: {{{1}}}",
                                 Shown(pair->key), Shown(inner)),
                     faulty.WithValue(*pair, fmt::format("{{{}}}", inner))});
  }
  const std::size_t key = colon == kNowhere ? kNowhere : pair->value.rfind(' ', colon - 1);
  if (key != kNowhere && std::isdigit(static_cast<unsigned char>(pair->value.front())) != 0) {
    const std::string_view second = pair->value.substr(key + 1);
    cures.push_back({faulty.line(),
                     fmt::format("expected one key on the line, found a second; put '{}' on a "
                                 "line of its own",
                                 Shown(second)),
                     fmt::format("{}\n{}", faulty.WithValue(*pair, pair->value.substr(0, key)),
                                 faulty.Indented(faulty.line(), second))});
  }
  cures.push_back({faulty.line(),
                   fmt::format("expected one ': ' on the line, found another in the text of "
                               "'{0}'; put quotes around all of the text: {0}: {1}",
                               Shown(pair->key), InQuotes(pair->value)),
                   faulty.WithValue(*pair, InQuotes(pair->value))});
  return cures;
}

std::vector<Cure> RestBehindQuote(const FaultyText& faulty) {
  const auto pair = PairOn(faulty.At(faulty.line()));
  if (!pair || pair->value.empty()) return {};
  const char first = pair->value.front();
  const char last = first == '{' ? '}' : first == '[' ? ']' : first;
  if (!std::string_view("'\"[{").contains(first)) return {};
  const std::size_t end = pair->value.find(last, 1);
  const std::string_view rest =
      end == kNowhere ? std::string_view() : Trimmed(pair->value.substr(end + 1));
  if (rest.empty()) return {};
  std::vector<Cure> cures;
  const auto propose = [&](const std::string& advice, const std::string& value) {
    cures.push_back({faulty.line(),
                     fmt::format("expected nothing behind the closing {}, found '{}'; {}", last,
                                 Shown(rest), advice),
                     faulty.WithValue(*pair, value)});
  };
  const auto put = [&](std::string_view where, const std::string& value) {
    propose(fmt::format("put {}: {}: {}", where, Shown(pair->key), Shown(value)), value);
  };
  const std::size_t close = pair->value.rfind('}', pair->value.size() - rest.size() - 1);
  if (first == '{' && close != kNowhere) {  // "{int: [1, 4]} log: true", "{int: [1, 4]}, log: true"
    const std::string_view head = pair->value.substr(0, close);
    std::string_view more = rest.starts_with(',') ? Trimmed(rest.substr(1)) : rest;
    if (more.starts_with('{') && more.ends_with('}')) more = more.substr(1, more.size() - 2);
    if (PairOn(more)) put("it inside the braces", fmt::format("{}, {}}}", head, more));
  }
  if (rest.starts_with(',') || rest.starts_with(';') || rest == std::string_view(&last, 1)) {
    cures.push_back({faulty.line(),
                     fmt::format("expected nothing behind the closing {}, found '{}'; remove it",
                                 last, rest.front()),
                     faulty.WithValue(*pair, pair->value.substr(0, end + 1))});
  }
  const bool expression =
      first == last &&
      std::ranges::any_of(
          std::array<std::string_view, 9>{"==", "!=", "<", ">", "in ", "and ", "or ", "+", "*"},
          [&](std::string_view symbol) { return rest.starts_with(symbol); });
  const std::string_view word = pair->value.substr(1, end - 1);
  const bool named = std::ranges::any_of(faulty.lines(), [&](std::string_view line) {
    const auto other = PairOn(line);
    return other && other->key == word;
  });
  if (expression && named) {
    const std::string value = fmt::format("{} {}", word, rest);
    cures.push_back(
        {faulty.line(),
         fmt::format("expected a name without quotes before '{}', found {}; write {}: {}",
                     Shown(rest), Shown(pair->value.substr(0, end + 1)), Shown(pair->key),
                     Shown(value)),
         faulty.WithValue(*pair, value)});
  }
  if (expression && !pair->value.contains('"')) {
    const std::string value = fmt::format("\"{}\"", pair->value);
    cures.push_back({faulty.line(),
                     fmt::format("expected the whole of a text that begins with a quote in "
                                 "quotes, found '{}' behind them; write {}: {}",
                                 Shown(rest), Shown(pair->key), Shown(value)),
                     faulty.WithValue(*pair, value)});
  }
  put("quotes around all of the text", InQuotes(pair->value));
  return cures;
}

}  // namespace sluice
