#include "config/yaml_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/scalar.h"

namespace sluice {
namespace {

using std::string_view;

constexpr std::size_t kNone = string_view::npos;

std::vector<string_view> LinesOf(string_view text) {
  std::vector<string_view> lines;
  while (!text.empty()) {
    string_view line = FirstLine(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

std::size_t IndentOf(string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

string_view Trimmed(string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

bool SaysNothing(string_view line) {
  const string_view words = Trimmed(line);
  return words.empty() || words.starts_with('#');
}

bool IsKey(string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

// "key: value", or "- key: value"; the value may be empty.
struct Pair {
  string_view key;
  string_view value;
};
std::optional<Pair> PairOn(string_view line) {
  string_view words = Trimmed(line);
  while (words.starts_with("- ")) words = Trimmed(words.substr(2));
  const std::size_t colon = words.find(':');
  if (colon == kNone || !IsKey(words.substr(0, colon))) return std::nullopt;
  if (colon + 1 < words.size() && words[colon + 1] != ' ') return std::nullopt;
  return Pair{words.substr(0, colon), Trimmed(words.substr(colon + 1))};
}

// Where something begins that is in quotes nowhere on the line.
std::size_t FindBare(string_view line, string_view what, std::size_t from = 0) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
      continue;
    }
    if (i >= from && line.substr(i).starts_with(what)) return i;
    const bool begins = i == 0 || string_view(" [{,:").contains(line[i - 1]);
    if (begins && (line[i] == '"' || line[i] == '\'')) quote = line[i];
  }
  return kNone;
}

std::string InQuotes(string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

class Explainer {
 public:
  Explainer(const YamlFault& fault, const ConfigRawNode* open, string_view text)
      : fault_(fault), open_(open), lines_(LinesOf(text)) {}

  Unreadable Explain() const {
    if (auto fence = Fence()) return *fence;
    if (Is(Kind::kUnclosed) && open_ != nullptr) return Unclosed();
    if (Is(Kind::kColon) || Is(Kind::kNextItem)) {
      if (auto comment = ForeignComment()) return *comment;
      if (auto blank = MissingBlank()) return *blank;
      if (auto colon = MissingColon()) return *colon;
      if (auto dash = StrayDash()) return *dash;
      if (auto dash = DashWithoutBlank()) return *dash;
      if (auto indent = Indentation()) return *indent;
      if (auto colon = ColonInText()) return *colon;
      if (auto rest = RestBehindQuote()) return *rest;
    }
    if (Is(Kind::kColon)) {
      return {line(),
              "expected one 'key: value' on a line, found a ':' where none can be; check the "
              "indentation of this line and the one before, and quote texts that hold ': '"};
    }
    const string_view whole = Trimmed(At(line()));
    const bool quoted = whole.size() > 2 && whole.front() == whole.back() &&
                        string_view("\"'").contains(whole.front());
    if (Is(Kind::kNextItem) && quoted && PairOn(whole.substr(1, whole.size() - 2))) {
      return {line(), fmt::format("expected a key, found a text in quotes; remove the quotes: {}",
                                  Shown(whole.substr(1, whole.size() - 2)))};
    }
    if (Is(Kind::kNextItem)) {
      return {line(),
              fmt::format("expected the next key or item, found '{}'; check the indentation, and "
                          "quote texts that begin with a bracket, brace or quote",
                          Shown(Trimmed(At(line()))))};
    }
    if (Is(Kind::kClosed) && open_ != nullptr && open_->flow) {
      const bool list = open_->kind == ConfigKind::kList;
      return {line(),
              fmt::format("expected '{}' to close the '{}' on line {}, found '{}'; close what was "
                          "opened last first",
                          list ? ']' : '}', list ? '[' : '{', open_->line, list ? '}' : ']')};
    }
    if (const auto colon = ColonBeforeBracket(); Is(Kind::kClosed) && colon) return *colon;
    if (Is(Kind::kClosed)) {
      return {line(),
              "expected an opening bracket or brace before, found only the closing one; remove it"};
    }
    if (Is(Kind::kCharacter)) return UnknownToken();
    if (Is(Kind::kUnknownAlias)) return UnknownAlias();
    if (Is(Kind::kEscape)) {
      return {line(),
              "expected a known escape after '\\' in double quotes, found another; write \\\\ for "
              "a backslash, or use single quotes"};
    }
    if (const auto pair = PairOn(At(line())); Is(Kind::kDash) && pair) {
      const string_view item = Trimmed(pair->value.substr(pair->value.starts_with('-') ? 1 : 0));
      return {line(),
              fmt::format("expected the first item of a list on a line of its own, found it "
                          "behind '{0}:'; write it below, or '{0}: [{1}]'",
                          Shown(pair->key), Shown(item))};
    }
    if (const auto pair = PairOn(At(line())); Is(Kind::kBlock) && pair) return Block(*pair);
    const string_view rest = Trimmed(FromMark());
    if (rest.empty())
      return {line(), fmt::format("expected YAML, found an error: {}", Shown(fault_.message))};
    return {line(),
            fmt::format("expected YAML, found '{}' where it cannot be ({}); quote a text that "
                        "holds it, or check the brackets and the indentation before it",
                        Shown(rest), Shown(fault_.message))};
  }

 private:
  using Kind = YamlFault::Kind;

  bool Is(Kind kind) const { return fault_.kind == kind; }
  int line() const { return fault_.line; }
  string_view At(int line) const {
    const auto index = static_cast<std::size_t>(line - 1);
    return index < lines_.size() ? lines_[index] : string_view();
  }
  // The line before this one that says something; 0: none.
  int Before(int line) const {
    for (--line; line > 0 && SaysNothing(At(line));) --line;
    return line;
  }

  // A listing copied together with what surrounds it in Markdown.
  std::optional<Unreadable> Fence() const {
    for (int at = 1; at <= line() && at <= static_cast<int>(lines_.size()); ++at) {
      if (!Trimmed(At(at)).starts_with("```")) continue;
      return Unreadable{at,
                        "expected YAML, found ```, which marks a listing in Markdown; remove the "
                        "lines that begin with it"};
    }
    return std::nullopt;
  }

  // A comparison that YAML takes for the beginning of a text, as in 'accuracy: > 0.9'.
  Unreadable Block(const Pair& pair) const {
    const string_view number = Trimmed(pair.value.substr(pair.value.starts_with(">=") ? 2 : 1));
    const std::string meant = ParseNumber(number) ? std::string(number) : InQuotes(pair.value);
    return {line(),
            fmt::format("expected a value, found '{}' first, which begins a text of several lines "
                        "in YAML; write '{}: {}'",
                        pair.value.substr(0, 1), Shown(pair.key), Shown(meant))};
  }

  Unreadable Unclosed() const {
    const bool list = open_->kind == ConfigKind::kList;
    if (const std::string when = ConditionOn(At(open_->line)); !list && !when.empty()) {
      return {
          open_->line,
          fmt::format("expected a condition in quotes, since brackets and commas mean something "
                      "else inside braces, found {}; write 'when: \"{}\"'",
                      Shown(when), Shown(when))};
    }
    const std::string what = fmt::format("expected '{}' to close the '{}' that begins on this line",
                                         list ? ']' : '}', list ? '[' : '{');
    if (const std::size_t comment = FindBare(At(open_->line), " #"); comment != kNone) {
      const string_view rest = At(open_->line).substr(comment + 1);
      const string_view word = rest.substr(0, rest.find_first_of(" ,]}"));
      return {open_->line,
              fmt::format("{}, found '#', which begins a comment up to the end of the line; quote "
                          "the text, as in \"{}\"",
                          what, Shown(word))};
    }
    if (const std::string cure = CureOfFlow(At(open_->line)); !cure.empty())
      return {open_->line, fmt::format("{}, found none; {}", what, cure)};
    return {open_->line,
            fmt::format("{}, found none; close it, and put commas between what it holds", what)};
  }

  // "{float:[0, 1]}", "{a: 1; b: 2}", "{a: [1] b: 2}"
  static std::string CureOfFlow(string_view line) {
    for (const string_view open : {":[", ":{"}) {
      if (const std::size_t at = FindBare(line, open); at != kNone)
        return fmt::format("put a blank behind the colon, ': {}'", open.back());
    }
    if (std::ranges::count(line, '"') >= 4 && line.contains("= \""))
      return "write single quotes inside double ones, as in \"o == 'a'\"";
    if (line.contains(" in {"))
      return "write a list in brackets, and quote all: \"o in ['a', 'b']\"";
    if (FindBare(line, ";") != kNone) return "write ',' in place of ';'";
    for (const string_view equals : {"= [", "= {", "=[", "={"}) {
      if (FindBare(line, equals) != kNone) return "write ': ' in place of '='";
    }
    for (const string_view close : {"] ", "} "}) {
      const std::size_t at = FindBare(line, close);
      if (at == kNone) continue;
      const string_view rest = Trimmed(line.substr(at + 2));
      const string_view word = rest.substr(0, rest.find_first_of(": ,]}"));
      if (IsKey(word)) return fmt::format("put a comma before '{}'", Shown(word));
    }
    // "[python train.py {args}]"
    const std::size_t brace = FindBare(line, " {");
    const std::size_t list = FindBare(line, "[");
    if (list != kNone && brace != kNone && brace > list && line[brace - 1] != ',' &&
        line[brace - 1] != ':' && line[brace - 1] != '[')
      return "quote texts that hold braces, as in [\"{lr}\"]";
    return "";
  }

  // What follows 'when: ' inside braces, up to the last of them.
  static std::string ConditionOn(string_view line) {
    const std::size_t when = line.find("when: ");
    if (when == kNone) return "";
    string_view condition = line.substr(when + 6);
    condition = condition.substr(0, condition.rfind('}'));
    const bool plain = condition.find_first_of("[,") != kNone && !condition.starts_with('"') &&
                       !condition.starts_with('\'');
    return plain ? std::string(condition) : "";
  }

  // "trials:40", on this line or the one before.
  std::optional<Unreadable> MissingBlank() const {
    for (const int at : {line(), Before(line())}) {
      const string_view words = Trimmed(At(at));
      const std::size_t colon = words.find(':');
      if (colon == kNone || colon + 1 >= words.size() || !IsKey(words.substr(0, colon))) continue;
      const string_view value = words.substr(colon + 1);
      if (value.starts_with(' ') || value.starts_with("//")) continue;
      return Unreadable{at, fmt::format("expected a blank behind the colon, found '{}'; write "
                                        "'{}: {}'",
                                        Shown(words), words.substr(0, colon), Shown(value))};
    }
    return std::nullopt;
  }

  // "space" and below it what it holds.
  std::optional<Unreadable> MissingColon() const {
    const int before = Before(line());
    const string_view words = before > 0 ? Trimmed(At(before)) : string_view();
    if (!IsKey(words) || words.starts_with('-') || !PairOn(At(line()))) return std::nullopt;
    return Unreadable{before, fmt::format("expected a colon behind '{0}', found none; write '{0}:'",
                                          Shown(words))};
  }

  // "n {int: [1, 4]}" and "n = {int: [1, 4]}"
  std::optional<Unreadable> ColonBeforeBracket() const {
    const string_view words = Trimmed(At(line()));
    const std::size_t open = words.find_first_of("{[");
    if (open == kNone || open == 0) return std::nullopt;
    string_view key = Trimmed(words.substr(0, open));
    if (key.ends_with('=')) key = Trimmed(key.substr(0, key.size() - 1));
    if (!IsKey(key)) return std::nullopt;
    return Unreadable{line(),
                      fmt::format("expected a colon behind '{0}', found none; write '{0}: {1}'",
                                  Shown(key), Shown(words.substr(open)))};
  }

  // "- trials: 24" among keys that have none.
  std::optional<Unreadable> StrayDash() const {
    const int before = Before(line());
    const string_view words = Trimmed(At(line()));
    if (before > 0 && !words.starts_with("- ") && Trimmed(At(before)).starts_with("- ") &&
        PairOn(At(line())) && IndentOf(At(line())) == IndentOf(At(before))) {
      return Unreadable{before,
                        fmt::format("expected keys alike, found '- ' before this one and none "
                                    "before '{}'; remove the '- '",
                                    Shown(PairOn(At(line()))->key))};
    }
    if (before == 0 || !words.starts_with("- ") || Trimmed(At(before)).starts_with("- "))
      return std::nullopt;
    if (IndentOf(At(line())) > IndentOf(At(before))) return std::nullopt;
    return Unreadable{line(), fmt::format("expected another key, found '{}', an item of a list; "
                                          "remove the '- '",
                                          Shown(words))};
  }

  // "-lr < 1", or "-{lr: 0.1}"
  std::optional<Unreadable> DashWithoutBlank() const {
    for (const int at : {line(), Before(line())}) {
      const string_view words = at > 0 ? Trimmed(At(at)) : string_view();
      if (words.size() < 2 || words[0] != '-' || words[1] == ' ' || words[1] == '-') continue;
      return Unreadable{at,
                        fmt::format("expected a blank behind the '-' of an item, found '{}'; write "
                                    "'- {}'",
                                    Shown(words), Shown(words.substr(1)))};
    }
    return std::nullopt;
  }

  // Unlike the lines before it: too far for their neighbour, or between two of them.
  std::optional<Unreadable> Indentation() const {
    const int before = Before(line());
    if (before == 0 || SaysNothing(At(line()))) return std::nullopt;
    const std::size_t mine = IndentOf(At(line()));
    const std::size_t last = IndentOf(At(before));
    const auto pair = PairOn(At(before));
    const bool holds = pair && !pair->value.empty();
    if (mine > last && holds && PairOn(At(line())) &&
        std::isalpha(static_cast<unsigned char>(pair->value.front())) != 0 &&
        pair->value != "true" && pair->value != "false") {
      const Pair below = *PairOn(At(line()));
      return Unreadable{
          line(),
          fmt::format("expected nothing below '{0}', which has the value '{1}' on its line, "
                      "found '{2}'; write '{0}: {{name: {1}, {2}: {3}}}' if it is an option "
                      "of that, or begin both lines alike",
                      Shown(pair->key), Shown(pair->value), Shown(below.key),
                      below.value.empty() ? "..." : Shown(below.value))};
    }
    if (mine > last && holds && PairOn(At(line()))) {
      return Unreadable{
          line(), fmt::format("expected {} spaces before '{}', as before the key on line {}, found "
                              "{}; indent both alike, since nothing stands below a key that has a "
                              "value on its line",
                              last, Shown(PairOn(At(line()))->key), before, mine)};
    }
    if (mine >= last) return std::nullopt;
    std::vector<std::size_t> levels;
    for (int at = before; at > 0; at = Before(at)) {
      const std::size_t indent = IndentOf(At(at));
      if (indent == mine) return std::nullopt;
      if (levels.empty() || indent < levels.back()) levels.push_back(indent);
    }
    std::ranges::reverse(levels);
    return Unreadable{line(),
                      fmt::format("expected a line to begin where one before it does, after {} "
                                  "spaces, found {}; indent it like the keys beside it",
                                  fmt::join(levels, " or "), mine)};
  }

  // "// comment" and "-- comment"
  std::optional<Unreadable> ForeignComment() const {
    for (const int at : {line(), Before(line())}) {
      const string_view words = at > 0 ? Trimmed(At(at)) : string_view();
      for (const string_view mark : {"//", "-- ", "/*", ";"}) {
        if (!words.starts_with(mark)) continue;
        return Unreadable{
            at, fmt::format("expected a key, found '{}'; a comment begins with '#'", Shown(words))};
      }
    }
    return std::nullopt;
  }

  // "program: python train.py --tag a: b"
  std::optional<Unreadable> ColonInText() const {
    const auto pair = PairOn(At(line()));
    if (!pair || pair->value.empty() || string_view("'\"[{|>").contains(pair->value.front()))
      return std::nullopt;
    if (!pair->value.contains(": ") && !pair->value.ends_with(':')) return std::nullopt;
    const std::size_t colon = pair->value.find(": ");
    if (colon != kNone && IsKey(pair->value.substr(0, colon))) {  // "n: int: [1, 4]"
      string_view inner = pair->value;
      if (inner.ends_with('}')) inner.remove_suffix(1);
      return Unreadable{line(), fmt::format("expected one ': ' on the line, found two; put braces "
                                            "around what belongs to '{0}': {0}: {{{1}}}",
                                            Shown(pair->key), Shown(inner))};
    }
    const std::size_t key = colon == kNone ? kNone : pair->value.rfind(' ', colon - 1);
    if (key != kNone && std::isdigit(static_cast<unsigned char>(pair->value.front())) != 0) {
      return Unreadable{line(),
                        fmt::format("expected one key on the line, found a second; put '{}' "
                                    "on a line of its own",
                                    Shown(pair->value.substr(key + 1)))};
    }
    return Unreadable{
        line(),
        fmt::format("expected one ': ' on the line, found another in the text of '{0}'; put "
                    "quotes around all of the text: {0}: {1}",
                    Shown(pair->key), InQuotes(pair->value))};
  }

  // "name: 'a' b" or "name: {a} b"
  std::optional<Unreadable> RestBehindQuote() const {
    const auto pair = PairOn(At(line()));
    if (!pair || pair->value.empty()) return std::nullopt;
    const char first = pair->value.front();
    const char last = first == '{' ? '}' : first == '[' ? ']' : first;
    if (!string_view("'\"[{").contains(first)) return std::nullopt;
    const std::size_t end = pair->value.find(last, 1);
    if (end == kNone || Trimmed(pair->value.substr(end + 1)).empty()) return std::nullopt;
    const string_view rest = Trimmed(pair->value.substr(end + 1));
    if (first == '{' && rest.starts_with(',') && PairOn(rest.substr(1))) {
      const std::size_t close = pair->value.rfind('}', pair->value.size() - rest.size() - 1);
      return Unreadable{
          line(), fmt::format("expected nothing behind the closing }}, found '{}'; put it "
                              "inside the braces: {}: {}{}}}",
                              Shown(rest), Shown(pair->key), Shown(pair->value.substr(0, close)),
                              Shown(rest))};
    }
    if (rest.starts_with(',') || rest.starts_with(';')) {
      return Unreadable{line(), fmt::format("expected nothing behind the closing {}, found '{}'; "
                                            "remove it",
                                            last, rest.front())};
    }
    if (first == '{' && (PairOn(rest) || rest.starts_with('{'))) {  // "{int: [1, 4]} log: true"
      string_view more = rest;
      if (more.starts_with('{') && more.ends_with('}')) more = more.substr(1, more.size() - 2);
      const std::size_t close = pair->value.rfind('}', pair->value.size() - rest.size() - 1);
      return Unreadable{
          line(), fmt::format("expected nothing behind the closing }}, found '{}'; put it "
                              "inside the braces: {}: {}, {}}}",
                              Shown(rest), Shown(pair->key), Shown(pair->value.substr(0, close)),
                              Shown(more))};
    }
    const bool expression =
        first == last &&
        std::ranges::any_of(
            std::array<string_view, 9>{"==", "!=", "<", ">", "in ", "and ", "or ", "+", "*"},
            [&](string_view symbol) { return rest.starts_with(symbol); });
    const string_view word = pair->value.substr(1, end - 1);
    const bool named = std::ranges::any_of(lines_, [&](string_view line) {
      const auto other = PairOn(line);
      return other && other->key == word;
    });
    if (expression && named) {
      return Unreadable{
          line(), fmt::format("expected a name without quotes before '{0}', found {1}; write {2}: "
                              "{3} {0}",
                              Shown(rest), Shown(pair->value.substr(0, end + 1)), Shown(pair->key),
                              Shown(word))};
    }
    if (expression && !pair->value.contains('"')) {
      return Unreadable{line(), fmt::format("expected the whole of a text that begins with a quote "
                                            "in quotes, found '{}' behind them; write {}: \"{}\"",
                                            Shown(rest), Shown(pair->key), Shown(pair->value))};
    }
    return Unreadable{
        line(),
        fmt::format("expected nothing behind the closing {}, found '{}'; put quotes around all of "
                    "the text: {}: {}",
                    last, Shown(Trimmed(pair->value.substr(end + 1))), Shown(pair->key),
                    InQuotes(pair->value))};
  }

  Unreadable UnknownToken() const {
    const string_view rest = FromMark();
    if (rest.empty())
      return {line(), "expected a value, found a character that cannot begin one; quote the text"};
    if (rest.starts_with('>') || rest.starts_with('<')) {
      return {line(), fmt::format("expected a value, found '{}', which cannot begin one; write the "
                                  "number alone, without '{}'",
                                  Shown(Trimmed(rest)), rest.front())};
    }
    return {line(), fmt::format("expected a value, found '{}', which cannot begin one; quote the "
                                "text, as in {}",
                                rest.front(), Shown(InQuotes(Trimmed(rest))))};
  }

  Unreadable UnknownAlias() const {
    string_view name = FromMark();
    name = name.substr(std::min<std::size_t>(name.find_first_not_of('*'), name.size()));
    name = name.substr(0, name.find_first_of(" ,]}"));
    std::vector<std::string> anchors;
    for (int at = 1; at <= line(); ++at) {
      const std::size_t anchor = FindBare(At(at), "&");
      if (anchor == kNone) continue;
      const string_view rest = At(at).substr(anchor + 1);
      anchors.emplace_back(rest.substr(0, rest.find_first_of(" ,]}")));
    }
    if (anchors.empty()) {
      return {line(), fmt::format("expected a value, found '*{}', which means something named "
                                  "&{} before, and there is none; quote texts that begin with '*'",
                                  Shown(name), Shown(name))};
    }
    return {line(), fmt::format("expected a name given before ({}), found *{}{}", Join(anchors),
                                Shown(name), DidYouMean(name, anchors))};
  }

  string_view FromMark() const {
    const string_view at = At(line());
    return at.substr(std::min(fault_.column, at.size()));
  }

  const YamlFault& fault_;
  const ConfigRawNode* open_;
  const std::vector<string_view> lines_;
};

}  // namespace

Unreadable ExplainFault(const YamlFault& fault, const ConfigRawNode* open, std::string_view text) {
  return Explainer(fault, open, text).Explain();
}

}  // namespace sluice
