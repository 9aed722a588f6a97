#include "config/yaml_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/faulty_text.h"
#include "config/flow_cures.h"
#include "config/line_cures.h"
#include "config/value_cures.h"
#include "config/yaml_lines.h"

namespace sluice {
namespace {

using std::string_view;

// Trying a cure reads the whole text once, so cures of longer texts are not tried.
constexpr std::size_t kLongestTried = std::size_t{1} << 16;

class Explainer {
 public:
  Explainer(const YamlFault& fault, const ConfigRawNode* open, string_view text,
            const FindFault& find_fault)
      : fault_(fault),
        open_(open),
        faulty_(text, fault.line),
        find_fault_(text.size() <= kLongestTried ? &find_fault : nullptr) {}

  Unreadable Explain() const {
    if (auto fence = Fence()) return *fence;
    if (auto cured = First({LookalikeCharacter})) return *cured;
    if (Is(Kind::kUnclosed) && open_ != nullptr) return Unclosed();
    if (Is(Kind::kColon) || Is(Kind::kNextItem)) {
      if (auto cured = First({ForeignComment, MissingBlank, MissingColon, StrayDash,
                              DashWithoutBlank, UnlikeIndentation, ColonInText, RestBehindQuote}))
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
      if (auto cured = First({ColonBeforeBracket})) return *cured;
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
      if (auto cured = First({ItemBehindKey})) return *cured;
    }
    if (Is(Kind::kBlock)) {
      if (auto cured = First({ComparisonBehindKey})) return *cured;
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

  using Rule = std::vector<Cure> (*)(const FaultyText&);

  bool Is(Kind kind) const { return fault_.kind == kind; }

  // The message of the first cure that works, with the rules in this order.
  std::optional<Unreadable> First(std::initializer_list<Rule> rules) const {
    for (const Rule rule : rules) {
      for (const Cure& cure : rule(faulty_)) {
        if (Works(cure)) return Unreadable{cure.line, cure.message};
      }
    }
    return std::nullopt;
  }

  // Whether the parser gets beyond the fault and beyond the changed line in the mended text. True
  // for a cure that cannot be tried.
  bool Works(const Cure& cure) const {
    if (cure.instead.empty() || find_fault_ == nullptr) return true;
    const std::optional<int> fault = (*find_fault_)(faulty_.With(cure));
    return !fault || *fault > std::max(cure.line, line());
  }

  int line() const { return fault_.line; }
  string_view At(int line) const { return faulty_.At(line); }

  // A listing that was copied together with its fence in Markdown.
  std::optional<Unreadable> Fence() const {
    for (int at = 1; at <= line() && at <= static_cast<int>(faulty_.lines().size()); ++at) {
      if (!Trimmed(At(at)).starts_with("```")) continue;
      return Unreadable{at,
                        "expected YAML, found ```, which marks a listing in Markdown; remove the "
                        "lines that begin with it"};
    }
    return std::nullopt;
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
  const FaultyText faulty_;
  const FindFault* find_fault_;  // null: cures are not tried
};

}  // namespace

Unreadable ExplainFault(const YamlFault& fault, const ConfigRawNode* open, std::string_view text,
                        const FindFault& find_fault) {
  return Explainer(fault, open, text, find_fault).Explain();
}

}  // namespace sluice
