#include "engine/read/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 4> kListWords = {"args", "args_no_hyphens", "args_no_equals",
                                                        "args_no_boolean_flags"};

bool IsListWord(std::string_view word) {
  return std::ranges::find(kListWords, word) != kListWords.end();
}

// Whether an item is one list word in braces and nothing else.
bool IsListItem(std::string_view item) {
  return item.size() > 2 && item.front() == '{' && item.back() == '}' &&
         IsListWord(item.substr(1, item.size() - 2));
}

bool IsEnvironmentWord(std::string_view word) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return word.starts_with(kEnvironmentTemplate) && word.size() > kEnvironmentTemplate.size() &&
         std::ranges::all_of(word.substr(kEnvironmentTemplate.size()), fits);
}

constexpr std::array<std::string_view, 11> kShellOperators = {"|",  "||", "&",  "&&", ";",   ">",
                                                              ">>", "<",  "<<", "2>", "2>&1"};

// Rewrites a command line that needs a shell so that it calls one.
std::string WithShell(std::string_view text) {
  if (text.contains('\'')) return "\"sh -c '...'\"";
  std::string inner;
  std::string behind;  // a list word is an item of its own, so the shell gets it as arguments
  for (std::string_view rest = text; !rest.empty();) {
    const TemplatePiece piece = TakePiece(rest);
    const bool list = piece.kind == TemplatePiece::Kind::kWord && IsListWord(piece.text);
    if (list) behind = fmt::format(" sh {{{}}}", piece.text);
    inner += list                                       ? "\"$@\""
             : piece.kind == TemplatePiece::Kind::kWord ? fmt::format("{{{}}}", piece.text)
                                                        : std::string(piece.text);
  }
  return fmt::format("sh -c '{}'{}", inner, behind);
}

// Whether an item is an option whose value may be the next item: --name or -n, but not --name=value
// and not a number.
bool IsOption(std::string_view item) {
  const std::size_t letter = item.find_first_not_of('-');
  return letter != 0 && letter != std::string_view::npos &&
         std::isalpha(static_cast<unsigned char>(item[letter])) != 0 &&
         item.find_first_of("={}") == std::string_view::npos;
}

// The first few of the parameters, as in " (lr, width)".
std::string SomeOf(const ParameterNames& parameters) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const std::string& name : parameters) {
    if (names.size() == kMost) {
      names.emplace_back("...");
      break;
    }
    names.push_back(name);
  }
  return names.empty() ? "" : fmt::format(" ({})", Join(names));
}

}  // namespace

const std::vector<std::string>& TemplateWords() {
  static const auto& words = *new std::vector<std::string>{"trial",
                                                           "launch",
                                                           "budget",
                                                           "params",
                                                           "checkpoint",
                                                           "seed",
                                                           "study",
                                                           "args",
                                                           "args_no_hyphens",
                                                           "args_no_equals",
                                                           "args_no_boolean_flags",
                                                           "args_json"};
  return words;
}

Status CheckTemplate(std::string_view text, const ParameterNames& parameters) {
  for (std::string_view rest = text; !rest.empty();) {
    const TemplatePiece piece = TakePiece(rest);
    if (piece.kind == TemplatePiece::Kind::kText) continue;
    if (piece.kind == TemplatePiece::Kind::kLoneBrace) {
      return InvalidArgument(fmt::format(
          "expected braces in pairs, as in {{lr}}, found a lone '{}' in '{}'; write {}{} "
          "for a brace itself",
          piece.text, Shown(text), piece.text, piece.text));
    }
    if (IsListWord(piece.text)) {
      const bool dollar = text == fmt::format("${{{}}}", piece.text);
      return InvalidArgument(fmt::format(
          "expected {{{}}} as an item of the program on its own, found '{}'; {}", piece.text,
          Shown(text),
          dollar               ? "remove the '$'"
          : text.contains(' ') ? fmt::format("in the text of a shell write \"$@\" for it, and 'sh "
                                             "{{{}}}' behind that text",
                                             piece.text)
                               : "make it an item of its own, name parameters as in {lr}, or write "
                                 "{params}, the path of a file that has them"));
    }
    if (parameters.contains(piece.text) || IsEnvironmentWord(piece.text)) continue;
    if (std::ranges::find(TemplateWords(), piece.text) != TemplateWords().end()) continue;
    std::vector<std::string> known(parameters.begin(), parameters.end());
    known.insert(known.end(), TemplateWords().begin(), TemplateWords().end());
    const auto at = static_cast<std::size_t>(piece.text.data() - text.data());
    const bool variable = std::ranges::none_of(
        piece.text, [](unsigned char c) { return std::islower(c) != 0 || c == '.'; });
    if (at >= 2 && text[at - 2] == '$' && !variable) {
      return InvalidArgument(fmt::format(
          "expected a parameter{} in braces, found ${{{}}}; write {{{}}} and so on, "
          "without the '$'",
          SomeOf(parameters), Shown(piece.text), parameters.empty() ? "lr" : *parameters.begin()));
    }
    if (at >= 2 && text[at - 2] == '$') {
      return InvalidArgument(
          fmt::format("expected {{envvar:{0}}} for a variable of the environment, found ${{{0}}}; "
                      "no shell runs the program",
                      Shown(piece.text)));
    }
    // "{lr:.3f}", "{params.lr}"
    for (const std::string& name : known) {
      const std::string_view piece_of = piece.text;
      const bool whole = piece_of.starts_with(name + ":") || piece_of.starts_with(name + "!") ||
                         piece_of.ends_with("." + name) || piece_of.ends_with(":" + name);
      if (!whole || IsListWord(name)) continue;
      return InvalidArgument(fmt::format(
          "expected a name alone in braces, found {{{}}}; write {{{}}}", Shown(piece.text), name));
    }
    return InvalidArgument(fmt::format(
        "expected a parameter{} or one of {} in braces, found {{{}}}{}; name a parameter, or write "
        "{{{{ and }}}} for braces themselves",
        SomeOf(parameters), Join(TemplateWords()), Shown(piece.text),
        DidYouMean(piece.text, known)));
  }
  return {};
}

Status CheckProgramItem(std::string_view item, const ParameterNames& parameters) {
  if (IsListItem(item)) return {};
  return CheckTemplate(item, parameters);
}

std::vector<std::string> ExpandProgram(const std::vector<std::string>& program,
                                       const TemplateValues& values, const TemplateLists& lists) {
  std::vector<std::string> items;
  bool after_option = false;  // the last item is an option of `program`, not of a list
  for (const std::string& item : program) {
    if (IsListItem(item)) {
      const auto found = lists.find(std::string_view(item).substr(1, item.size() - 2));
      if (found != lists.end())
        items.insert(items.end(), found->second.begin(), found->second.end());
      after_option = false;
    } else if (HasValues(item, values)) {
      items.push_back(Expand(item, values));
      after_option = IsOption(item);
    } else {
      if (after_option) items.pop_back();
      after_option = false;
    }
  }
  return items;
}

std::vector<std::string> EnvironmentWords(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view rest = text; !rest.empty();) {
    const TemplatePiece piece = TakePiece(rest);
    if (piece.kind == TemplatePiece::Kind::kWord && IsEnvironmentWord(piece.text))
      names.emplace_back(piece.text.substr(kEnvironmentTemplate.size()));
  }
  return names;
}

Result<std::vector<std::string>> SplitCommandLine(std::string_view text) {
  std::vector<std::string> items;
  std::string item;
  bool in_item = false;
  bool quoted = false;  // a part of the item was in quotes
  char quote = 0;       // the quote that is open; 0: none
  const auto finish = [&]() -> Status {
    if (in_item && !quoted && std::ranges::find(kShellOperators, item) != kShellOperators.end()) {
      return InvalidArgument(
          fmt::format("expected a program without '{}', since no shell runs it; write {}, or quote "
                      "it to mean the text",
                      item, WithShell(text)));
    }
    if (in_item) items.push_back(std::exchange(item, {}));
    in_item = quoted = false;
    return {};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (quote != 0) {
      const bool escape = quote == '"' && c == '\\' && (next == '"' || next == '\\');
      if (c == quote) {
        quote = 0;
      } else {
        item += escape ? text[++i] : c;
      }
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      SLUICE_TRY(finish());
    } else {
      in_item = true;
      if (c == '\'' || c == '"') {
        quote = c;
        quoted = true;
      } else if (c == '\\' && i + 1 < text.size()) {
        // For a shell, a backslash at the end of a line continues that line.
        if (next != '\n') {
          item += next;
          quoted = true;
        } else {
          in_item = !item.empty() || quoted;
        }
        ++i;
      } else {
        item += c;
      }
    }
  }
  if (quote != 0) {
    return InvalidArgument(fmt::format(
        "expected quotes in pairs, found a lone {} in '{}'; close it, or write \\{} for "
        "the character itself",
        quote, Shown(text), quote));
  }
  SLUICE_TRY(finish());
  return items;
}

}  // namespace sluice
