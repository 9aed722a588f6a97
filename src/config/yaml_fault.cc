#include "config/yaml_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/flow_cures.h"
#include "config/scalar.h"
#include "config/yaml_lines.h"

namespace sluice {
namespace {

using std::string_view;

// Trying a cure reads the whole text once, so cures of longer texts are not tried.
constexpr std::size_t kLongestTried = std::size_t{1} << 16;

// A fault and how to mend it.
struct Cure {
  int line;
  std::string message;
  std::string instead;  // the mended line, to be tried; empty: the message proposes no line
};

class Explainer {
 public:
  Explainer(const YamlFault& fault, const ConfigRawNode* open, string_view text,
            const FindFault& find_fault)
      : fault_(fault),
        open_(open),
        lines_(LinesOf(text)),
        find_fault_(text.size() <= kLongestTried ? &find_fault : nullptr) {}

  Unreadable Explain() const {
    if (auto fence = Fence()) return *fence;
    if (auto cured = First({&Explainer::Lookalikes})) return *cured;
    if (Is(Kind::kUnclosed) && open_ != nullptr) return Unclosed();
    if (Is(Kind::kColon) || Is(Kind::kNextItem)) {
      if (auto cured =
              First({&Explainer::ForeignComment, &Explainer::MissingBlank, &Explainer::MissingColon,
                     &Explainer::StrayDash, &Explainer::DashWithoutBlank, &Explainer::Indentation,
                     &Explainer::ColonInText, &Explainer::RestBehindQuote}))
        return *cured;
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
    if (Is(Kind::kClosed)) {
      if (auto cured = First({&Explainer::ColonBeforeBracket})) return *cured;
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
    if (Is(Kind::kDash)) {
      if (auto cured = First({&Explainer::ItemBehindKey})) return *cured;
    }
    if (Is(Kind::kBlock)) {
      if (auto cured = First({&Explainer::Block})) return *cured;
    }
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

  using Rule = std::vector<Cure> (Explainer::*)() const;

  bool Is(Kind kind) const { return fault_.kind == kind; }

  // The message of the first cure that works, with the rules in this order.
  std::optional<Unreadable> First(std::initializer_list<Rule> rules) const {
    for (const Rule rule : rules) {
      for (const Cure& cure : (this->*rule)()) {
        if (Works(cure)) return Unreadable{cure.line, cure.message};
      }
    }
    return std::nullopt;
  }

  // Whether the mended text reads beyond the fault and beyond the changed line.
  bool Works(const Cure& cure) const {
    if (cure.instead.empty() || find_fault_ == nullptr) return true;
    std::string text;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const bool changed = i + 1 == static_cast<std::size_t>(cure.line);
      text += changed ? string_view(cure.instead) : lines_[i];
      text += '\n';
    }
    const std::optional<int> fault = (*find_fault_)(text);
    return !fault || *fault > std::max(cure.line, line());
  }

  // This text behind the indentation of a line.
  std::string Indented(int line, string_view text) const {
    return std::string(IndentOf(At(line)), ' ') + std::string(text);
  }
  // The faulty line, with another value behind the key of its pair.
  std::string WithValue(const YamlPair& pair, string_view value) const {
    const string_view before =
        At(line()).substr(0, static_cast<std::size_t>(pair.key.end() - At(line()).begin()));
    return fmt::format("{}: {}", before, value);
  }

  int line() const { return fault_.line; }
  string_view At(int line) const {
    const auto index = static_cast<std::size_t>(line - 1);
    return index < lines_.size() ? lines_[index] : string_view();
  }
  // The nearest line before this one that is not blank or a comment; 0 if there is none.
  int Before(int line) const {
    for (--line; line > 0 && SaysNothing(At(line));) --line;
    return line;
  }

  // A listing that was copied together with its fence in Markdown.
  std::optional<Unreadable> Fence() const {
    for (int at = 1; at <= line() && at <= static_cast<int>(lines_.size()); ++at) {
      if (!Trimmed(At(at)).starts_with("```")) continue;
      return Unreadable{at,
                        "expected YAML, found ```, which marks a listing in Markdown; remove the "
                        "lines that begin with it"};
    }
    return std::nullopt;
  }

  // A character that looks like one of YAML's but is another.
  std::vector<Cure> Lookalikes() const {
    std::vector<Cure> cures;
    for (const int at : {line(), Before(line())}) {
      const std::string other = Lookalike(At(at));
      if (other.empty()) continue;
      std::string plain = WithoutLookalikes(At(at));
      const std::size_t colon = plain.find(':');
      if (colon != kNowhere && colon + 1 < plain.size() && plain[colon + 1] != ' ')
        plain.insert(colon + 1, " ");
      cures.push_back(
          {at, fmt::format("expected YAML, and {}; write '{}'", other, Shown(Trimmed(plain))),
           plain});
    }
    return cures;
  }

  // A comparison that YAML takes for the beginning of a text, as in 'accuracy: > 0.9'.
  std::vector<Cure> Block() const {
    const auto pair = PairOn(At(line()));
    if (!pair || pair->value.empty()) return {};
    const string_view number = Trimmed(pair->value.substr(pair->value.starts_with(">=") ? 2 : 1));
    const std::string meant = ParseNumber(number) ? std::string(number) : InQuotes(pair->value);
    return {{line(),
             fmt::format("expected a value, found '{}' first, which begins a text of several lines "
                         "in YAML; write '{}: {}'",
                         pair->value.substr(0, 1), Shown(pair->key), Shown(meant)),
             WithValue(*pair, meant)}};
  }

  // "constraints: - a < b"
  std::vector<Cure> ItemBehindKey() const {
    const auto pair = PairOn(At(line()));
    if (!pair) return {};
    const string_view item = Trimmed(pair->value.substr(pair->value.starts_with('-') ? 1 : 0));
    const std::string what = fmt::format(
        "expected the first item of a list on a line of its own, found it behind '{}:'; write it "
        "below",
        Shown(pair->key));
    return {{line(), fmt::format("{}, or '{}: [{}]'", what, Shown(pair->key), Shown(item)),
             WithValue(*pair, fmt::format("[{}]", item))},
            {line(), fmt::format("{}, as '- {}'", what, Shown(item)), ""}};
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
    if (const std::size_t comment = FindBare(At(open_->line), " #"); comment != kNowhere) {
      const string_view rest = At(open_->line).substr(comment + 1);
      const string_view word = rest.substr(0, rest.find_first_of(" ,]}"));
      return {open_->line,
              fmt::format("{}, found '#', which begins a comment up to the end of the line; quote "
                          "the text, as in \"{}\"",
                          what, Shown(word))};
    }
    for (const FlowCure& cure : CuresOfFlow(At(open_->line))) {
      if (Works({open_->line, "", cure.instead}))
        return {open_->line, fmt::format("{}, found none; {}", what, cure.advice)};
    }
    return {open_->line,
            fmt::format("{}, found none; close it, and put commas between what it holds", what)};
  }

  // "trials:40", on this line or the one before.
  std::vector<Cure> MissingBlank() const {
    std::vector<Cure> cures;
    for (const int at : {line(), Before(line())}) {
      const string_view words = Trimmed(At(at));
      const std::size_t colon = words.find(':');
      if (colon == kNowhere || colon + 1 >= words.size() || !IsKey(words.substr(0, colon)))
        continue;
      const string_view value = words.substr(colon + 1);
      if (value.starts_with(' ') || value.starts_with("//")) continue;
      const std::string cured = fmt::format("{}: {}", words.substr(0, colon), value);
      cures.push_back({at,
                       fmt::format("expected a blank behind the colon, found '{}'; write '{}'",
                                   Shown(words), Shown(cured)),
                       Indented(at, cured)});
    }
    return cures;
  }

  // "space" with its contents on the lines below; "trials 24" and "trials = 24".
  std::vector<Cure> MissingColon() const {
    std::vector<Cure> cures;
    for (const int at : {line(), Before(line())}) {
      const string_view words = at > 0 ? Trimmed(At(at)) : string_view();
      const string_view key = words.substr(0, words.find(' '));
      if (!IsKey(key) || key.starts_with('-')) continue;
      string_view value = Trimmed(words.substr(key.size()));
      if (value.starts_with("= ")) value = Trimmed(value.substr(2));
      const std::string cured = fmt::format("{}:{}{}", key, value.empty() ? "" : " ", value);
      cures.push_back({at,
                       fmt::format("expected a colon behind '{}', found none; write '{}'",
                                   Shown(key), Shown(cured)),
                       Indented(at, cured)});
    }
    return cures;
  }

  // "n {int: [1, 4]}" and "n = {int: [1, 4]}"
  std::vector<Cure> ColonBeforeBracket() const {
    const string_view words = Trimmed(At(line()));
    const std::size_t open = words.find_first_of("{[");
    if (open == kNowhere || open == 0) return {};
    string_view key = Trimmed(words.substr(0, open));
    if (key.ends_with('=')) key = Trimmed(key.substr(0, key.size() - 1));
    if (!IsKey(key)) return {};
    const std::string cured = fmt::format("{}: {}", key, words.substr(open));
    return {{line(),
             fmt::format("expected a colon behind '{}', found none; write '{}'", Shown(key),
                         Shown(cured)),
             Indented(line(), cured)}};
  }

  // "- trials: 24" among keys that have none.
  std::vector<Cure> StrayDash() const {
    const int before = Before(line());
    const string_view words = Trimmed(At(line()));
    if (before > 0 && !words.starts_with("- ") && Trimmed(At(before)).starts_with("- ") &&
        PairOn(At(line())) && IndentOf(At(line())) == IndentOf(At(before))) {
      return {{before,
               fmt::format("expected keys alike, found '- ' before this one and none before '{}'; "
                           "remove the '- '",
                           Shown(PairOn(At(line()))->key)),
               ""}};
    }
    if (before == 0 || !words.starts_with("- ") || Trimmed(At(before)).starts_with("- ")) return {};
    if (IndentOf(At(line())) > IndentOf(At(before))) return {};
    return {{line(),
             fmt::format("expected another key, found '{}', an item of a list; remove the '- '",
                         Shown(words)),
             Indented(line(), Trimmed(words.substr(2)))}};
  }

  // "-lr < 1", or "-{lr: 0.1}"
  std::vector<Cure> DashWithoutBlank() const {
    std::vector<Cure> cures;
    for (const int at : {line(), Before(line())}) {
      const string_view words = at > 0 ? Trimmed(At(at)) : string_view();
      if (words.size() < 2 || words[0] != '-' || words[1] == ' ' || words[1] == '-') continue;
      const std::string cured = fmt::format("- {}", words.substr(1));
      cures.push_back({at,
                       fmt::format("expected a blank behind the '-' of an item, found '{}'; write "
                                   "'{}'",
                                   Shown(words), Shown(cured)),
                       Indented(at, cured)});
    }
    return cures;
  }

  // A line indented unlike the lines before it: deeper than a key that has a value, or between two
  // levels.
  std::vector<Cure> Indentation() const {
    const int before = Before(line());
    if (before == 0 || SaysNothing(At(line()))) return {};
    const std::size_t mine = IndentOf(At(line()));
    const std::size_t last = IndentOf(At(before));
    const auto pair = PairOn(At(before));
    const bool holds = pair && !pair->value.empty();
    if (mine > last && holds && PairOn(At(line())) &&
        std::isalpha(static_cast<unsigned char>(pair->value.front())) != 0 &&
        pair->value != "true" && pair->value != "false") {
      const YamlPair below = *PairOn(At(line()));
      return {{line(),
               fmt::format("expected nothing below '{0}', which has the value '{1}' on its line, "
                           "found '{2}'; write '{0}: {{name: {1}, {2}: {3}}}' if it is an option "
                           "of that, or begin both lines alike",
                           Shown(pair->key), Shown(pair->value), Shown(below.key),
                           below.value.empty() ? "..." : Shown(below.value)),
               ""}};
    }
    if (mine > last && holds && PairOn(At(line()))) {
      return {{line(),
               fmt::format("expected {} spaces before '{}', as before the key on line {}, found "
                           "{}; indent both alike, since nothing stands below a key that has a "
                           "value on its line",
                           last, Shown(PairOn(At(line()))->key), before, mine),
               std::string(At(before).substr(0, last)) + std::string(Trimmed(At(line())))}};
    }
    if (mine >= last) return {};
    std::vector<std::size_t> levels;
    for (int at = before; at > 0; at = Before(at)) {
      const std::size_t indent = IndentOf(At(at));
      if (indent == mine) return {};
      if (levels.empty() || indent < levels.back()) levels.push_back(indent);
    }
    std::ranges::reverse(levels);
    return {{line(),
             fmt::format("expected a line to begin where one before it does, after {} spaces, "
                         "found {}; indent it like the keys beside it",
                         fmt::join(levels, " or "), mine),
             ""}};
  }

  // "// comment" and "-- comment"
  std::vector<Cure> ForeignComment() const {
    std::vector<Cure> cures;
    for (const int at : {line(), Before(line())}) {
      const string_view words = at > 0 ? Trimmed(At(at)) : string_view();
      for (const string_view mark : {"//", "-- ", "/*", ";"}) {
        if (!words.starts_with(mark)) continue;
        cures.push_back(
            {at, fmt::format("expected a key, found '{}'; a comment begins with '#'", Shown(words)),
             fmt::format("#{}", At(at))});
      }
    }
    return cures;
  }

  // "program: python train.py --tag a: b"
  std::vector<Cure> ColonInText() const {
    const auto pair = PairOn(At(line()));
    if (!pair || pair->value.empty() || string_view("'\"[{|>").contains(pair->value.front()))
      return {};
    if (!pair->value.contains(": ") && !pair->value.ends_with(':')) return {};
    std::vector<Cure> cures;
    const std::size_t colon = pair->value.find(": ");
    if (colon != kNowhere && IsKey(pair->value.substr(0, colon))) {  // "n: int: [1, 4]"
      string_view inner = pair->value;
      if (inner.ends_with('}')) inner.remove_suffix(1);
      cures.push_back({line(),
                       fmt::format("expected one ': ' on the line, found two; put braces around "
                                   "what belongs to '{0}': {0}: {{{1}}}",
                                   Shown(pair->key), Shown(inner)),
                       WithValue(*pair, fmt::format("{{{}}}", inner))});
    }
    const std::size_t key = colon == kNowhere ? kNowhere : pair->value.rfind(' ', colon - 1);
    if (key != kNowhere && std::isdigit(static_cast<unsigned char>(pair->value.front())) != 0) {
      const string_view second = pair->value.substr(key + 1);
      cures.push_back({line(),
                       fmt::format("expected one key on the line, found a second; put '{}' on a "
                                   "line of its own",
                                   Shown(second)),
                       fmt::format("{}\n{}", WithValue(*pair, pair->value.substr(0, key)),
                                   Indented(line(), second))});
    }
    cures.push_back({line(),
                     fmt::format("expected one ': ' on the line, found another in the text of "
                                 "'{0}'; put quotes around all of the text: {0}: {1}",
                                 Shown(pair->key), InQuotes(pair->value)),
                     WithValue(*pair, InQuotes(pair->value))});
    return cures;
  }

  // "name: 'a' b" or "name: {a} b"
  std::vector<Cure> RestBehindQuote() const {
    const auto pair = PairOn(At(line()));
    if (!pair || pair->value.empty()) return {};
    const char first = pair->value.front();
    const char last = first == '{' ? '}' : first == '[' ? ']' : first;
    if (!string_view("'\"[{").contains(first)) return {};
    const std::size_t end = pair->value.find(last, 1);
    const string_view rest = end == kNowhere ? string_view() : Trimmed(pair->value.substr(end + 1));
    if (rest.empty()) return {};
    std::vector<Cure> cures;
    const auto propose = [&](const std::string& advice, const std::string& value) {
      cures.push_back({line(),
                       fmt::format("expected nothing behind the closing {}, found '{}'; {}", last,
                                   Shown(rest), advice),
                       WithValue(*pair, value)});
    };
    const auto put = [&](string_view where, const std::string& value) {
      propose(fmt::format("put {}: {}: {}", where, Shown(pair->key), Shown(value)), value);
    };
    const std::size_t close = pair->value.rfind('}', pair->value.size() - rest.size() - 1);
    if (first == '{' &&
        close != kNowhere) {  // "{int: [1, 4]} log: true", "{int: [1, 4]}, log: true"
      const string_view head = pair->value.substr(0, close);
      string_view more = rest.starts_with(',') ? Trimmed(rest.substr(1)) : rest;
      if (more.starts_with('{') && more.ends_with('}')) more = more.substr(1, more.size() - 2);
      if (PairOn(more)) put("it inside the braces", fmt::format("{}, {}}}", head, more));
    }
    if (rest.starts_with(',') || rest.starts_with(';') || rest == string_view(&last, 1)) {
      cures.push_back({line(),
                       fmt::format("expected nothing behind the closing {}, found '{}'; remove it",
                                   last, rest.front()),
                       WithValue(*pair, pair->value.substr(0, end + 1))});
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
      const std::string value = fmt::format("{} {}", word, rest);
      cures.push_back(
          {line(),
           fmt::format("expected a name without quotes before '{}', found {}; write {}: {}",
                       Shown(rest), Shown(pair->value.substr(0, end + 1)), Shown(pair->key),
                       Shown(value)),
           WithValue(*pair, value)});
    }
    if (expression && !pair->value.contains('"')) {
      const std::string value = fmt::format("\"{}\"", pair->value);
      cures.push_back({line(),
                       fmt::format("expected the whole of a text that begins with a quote in "
                                   "quotes, found '{}' behind them; write {}: {}",
                                   Shown(rest), Shown(pair->key), Shown(value)),
                       WithValue(*pair, value)});
    }
    put("quotes around all of the text", InQuotes(pair->value));
    return cures;
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
    const string_view before = At(line()).substr(0, At(line()).size() - rest.size());
    const std::string what = fmt::format(
        "expected a value, found '{}', which cannot begin one; quote the text", rest.front());
    for (const char* ends : {"", ",]}"}) {  // a text alone, or one in brackets
      const string_view text = Trimmed(rest.substr(0, rest.find_first_of(ends)));
      const string_view behind = rest.substr(text.size());
      const std::string quoted = InQuotes(text);
      if (Works({line(), "", fmt::format("{}{}{}", before, quoted, behind)}))
        return {line(), fmt::format("{}, as in {}", what, Shown(quoted))};
    }
    return {line(), what};
  }

  Unreadable UnknownAlias() const {
    string_view name = FromMark();
    name = name.substr(std::min<std::size_t>(name.find_first_not_of('*'), name.size()));
    name = name.substr(0, name.find_first_of(" ,]}"));
    std::vector<std::string> anchors;
    for (int at = 1; at <= line(); ++at) {
      const std::size_t anchor = FindBare(At(at), "&");
      if (anchor == kNowhere) continue;
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
  const FindFault* find_fault_;  // null: cures are not tried
};

}  // namespace

Unreadable ExplainFault(const YamlFault& fault, const ConfigRawNode* open, std::string_view text,
                        const FindFault& find_fault) {
  return Explainer(fault, open, text, find_fault).Explain();
}

}  // namespace sluice
