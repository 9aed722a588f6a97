#include "engine/read/sweep/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "engine/read/templates.h"

namespace sluice {
namespace {

constexpr std::string_view kProgram = "program";

struct Macro {
  std::string name;
  std::string becomes;  // a template
};

const std::vector<Macro>& Macros() {
  static const auto& macros =
      *new std::vector<Macro>{{"env", "/usr/bin/env"},
                              {"interpreter", "python"},
                              {std::string(kProgram), ""},
                              {"args", "{args}"},
                              {"args_no_hyphens", "{args_no_hyphens}"},
                              {"args_no_equals", "{args_no_equals}"},
                              {"args_no_boolean_flags", "{args_no_boolean_flags}"},
                              {"args_json", "{args_json}"},
                              {"args_json_file", "{params}"}};
  return macros;
}

// The name in an item of the form "${NAME}"; nothing for any other item.
std::optional<std::string_view> MacroIn(std::string_view item) {
  if (!item.starts_with("${") || !item.ends_with("}") || item.size() < 3) return std::nullopt;
  const std::string_view name = item.substr(2, item.size() - 3);
  if (name.find_first_of("{}") != std::string_view::npos) return std::nullopt;
  return name;
}

class CommandReader {
 public:
  explicit CommandReader(const ConfigMap& sweep) : sweep_(sweep) {}

  std::vector<std::string> Read() {
    const ConfigNode* node = sweep_.Find("command");
    if (node == nullptr)
      return {Becomes("env"), Becomes("interpreter"), Program(), Becomes("args")};
    std::vector<std::string> items;
    const auto list = node->is_list() ? node->List() : std::nullopt;
    if (!list || list->empty()) {
      node->Expected("a list of texts and macros, such as [\"${env}\", python, \"${program}\"]",
                     "write each word as an item of a list, or leave 'command' out");
      return items;
    }
    for (const ConfigNode& item : *list) {
      if (const auto text = item.Text()) items.push_back(Translate(item, *text));
    }
    if (!items.empty() && items.front().empty()) list->front().Expected("a program that is not ''");
    return items;
  }

 private:
  static std::string Becomes(std::string_view name) {
    return std::ranges::find(Macros(), name, &Macro::name)->becomes;
  }

  std::string Program() {
    const ConfigNode* node =
        sweep_.Require(kProgram, "the script to run", "add 'program: train.py'");
    const auto text = node != nullptr ? node->Text() : std::nullopt;
    if (!text) return {};
    if (text->empty()) node->Expected("a script that is not ''");
    return EscapeTemplate(*text);
  }

  std::string Translate(const ConfigNode& item, std::string_view text) {
    const auto macro = MacroIn(text);
    if (!macro || macro->starts_with(kEnvironmentTemplate)) return TranslateText(item, text);
    if (*macro == kProgram) return Program();
    const auto found = std::ranges::find(Macros(), *macro, &Macro::name);
    if (found != Macros().end()) return found->becomes;
    std::vector<std::string> names;
    for (const Macro& known : Macros()) names.push_back(known.name);
    item.Report(fmt::format("expected one of the macros {}, envvar:NAME, found ${{{}}}{}",
                            Join(names), Shown(*macro), DidYouMean(*macro, names)));
    return {};
  }

  // Translates a text in which only ${envvar:NAME} has a meaning. All else is kept as it is.
  static std::string TranslateText(const ConfigNode& item, std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t begin = text.find("${");
      const std::size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
      if (end == std::string_view::npos) break;
      const std::string_view macro = text.substr(begin + 2, end - begin - 2);
      out += EscapeTemplate(text.substr(0, begin));
      if (macro.starts_with(kEnvironmentTemplate)) {
        const std::string word = fmt::format("{{{}}}", macro);
        if (!CheckTemplate(word, {})) {
          item.Report(fmt::format(
              "expected a variable's name of letters, digits and '_', as in ${{envvar:HOME}}, "
              "found ${{{}}}",
              Shown(macro)));
        }
        out += word;
      } else {
        if (std::ranges::find(Macros(), macro, &Macro::name) != Macros().end()) {
          item.Report(fmt::format(
              "expected ${{{}}} as an item of the list on its own, found it inside a text; make it "
              "an item, or use ${{envvar:NAME}}",
              macro));
        }
        out += EscapeTemplate(text.substr(begin, end + 1 - begin));
      }
      text.remove_prefix(end + 1);
    }
    return out + EscapeTemplate(text);
  }

  const ConfigMap& sweep_;
};

}  // namespace

std::vector<std::string> ReadSweepCommand(const ConfigMap& sweep) {
  return CommandReader(sweep).Read();
}

}  // namespace sluice
