#include "space/foreign_parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {
namespace {

bool Among(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

const ConfigNode* FindAny(const ConfigMap& map, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const ConfigNode* node = map.Find(key)) return node;
  }
  return nullptr;
}

// Whether a number is written as a whole one.
bool IsWrittenWhole(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
}

bool IsWrittenAsNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view Unquoted(std::string_view text) {
  const bool quoted = text.size() > 1 && text.starts_with('\'') && text.ends_with('\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// The numbers in "0.1 to 1", "0..1", "(0, 1)", "1-4".
std::vector<std::string> NumbersIn(std::string text) {
  std::vector<std::string> ends;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos)
    text.replace(dots, 2, " ");
  std::string word;
  for (const char c : text + " ") {
    const bool dash = c == '-' && !word.empty() && word.back() != 'e' && word.back() != 'E';
    const bool part = !dash && std::string_view("0123456789.eE+-").contains(c);
    if (part) word += c;
    if (part || word.empty()) continue;
    if (IsWrittenAsNumber(word)) ends.push_back(word);
    word.clear();
  }
  return ends;
}

std::string Range(std::string_view low, std::string_view high, bool whole, bool log) {
  low = Unquoted(low);
  high = Unquoted(high);
  return fmt::format("{{{}: [{}, {}]{}}}", whole ? "int" : "float", low, high,
                     log ? ", log: true" : "");
}

// The meaning of a word that names a law or a kind: uniform, suggest_loguniform, randint, ...
struct Meaning {
  bool range = false;
  bool choices = false;
  bool whole = false;
  bool log = false;
};
Meaning MeaningOf(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word.starts_with("suggest_")) word.erase(0, 8);
  Meaning meaning;
  meaning.choices = Among(word, {"choice", "choices", "categorical", "grid_search", "values",
                                 "options", "categories", "sample_from", "grid", "list", "enum"});
  meaning.log = word.contains("log");
  meaning.whole = word.contains("int") && word != "interval";
  meaning.range = meaning.whole || meaning.log || word.contains("uniform") ||
                  Among(word, {"float", "double", "real", "range", "bounds", "number", "interval"});
  return meaning;
}

// "tune.loguniform(1e-4, 1)", "float [0, 1]"
std::string FromCall(std::string_view text) {
  const std::size_t open = text.find_first_of("([");
  if (open == std::string_view::npos || (text.back() != ')' && text.back() != ']')) return "";
  std::string_view name = text.substr(0, open);
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  name = name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  std::string arguments(text.substr(open + 1, text.size() - open - 2));
  if (name == "tag") {  // "tag(log, interval(1e-5, 1))"
    const std::size_t comma = arguments.find(',');
    if (comma == std::string::npos) return "";
    const std::size_t call = arguments.find_first_not_of(' ', comma + 1);
    std::string inner = call == std::string::npos ? "" : FromCall(arguments.substr(call));
    const bool log = arguments.substr(0, comma).contains("log") && inner.ends_with("]}");
    return log ? inner.substr(0, inner.size() - 1) + ", log: true}" : inner;
  }
  const Meaning meaning = MeaningOf(std::string(name));
  if (meaning.choices)
    return fmt::format("{{choice: {}}}",
                       arguments.starts_with('[') ? arguments : "[" + arguments + "]");
  if (arguments.starts_with('\'') || arguments.starts_with('"'))  // "suggest_int('n', 1, 4)"
    arguments.erase(
        0, arguments.find_first_not_of(", ", std::min(arguments.find(','), arguments.size())));
  const std::size_t comma = arguments.find(',');
  if (!meaning.range || comma == std::string::npos) return "";
  std::string high = arguments.substr(comma + 1);
  high = high.substr(0, high.find(','));
  high.erase(0, high.find_first_not_of(' '));
  const std::string low = arguments.substr(0, comma);
  const bool open_kind = name == "range" || name == "interval";
  const bool whole = open_kind && IsWrittenWhole(low) && IsWrittenWhole(high);
  return Range(low, high, meaning.whole || whole, meaning.log);
}

std::string FromMap(const ConfigMap& map) {
  Meaning meaning;
  for (const std::string_view key : {"type", "distribution", "kind", "parameterType", "method"}) {
    if (const ConfigNode* node = map.Find(key)) meaning = MeaningOf(node->Show());
  }
  const ConfigNode* log = FindAny(map, {"log", "log_scale"});
  meaning.log = meaning.log || (log != nullptr && log->Show() == "true");
  if (const ConfigNode* values =
          FindAny(map, {"values", "options", "choices", "categories", "list", "grid_search"}))
    return fmt::format("{{choice: {}}}", values->Show());
  const ConfigNode* low = FindAny(map, {"low", "min", "lower", "minimum", "start"});
  const ConfigNode* high = FindAny(map, {"high", "max", "upper", "maximum", "stop", "end"});
  if (low != nullptr && high != nullptr) {
    const bool bare = IsWrittenWhole(low->Show()) && IsWrittenWhole(high->Show()) && !meaning.range;
    return Range(low->Show(), high->Show(), meaning.whole || bare, meaning.log);
  }
  for (const ConfigMap::Entry& entry : map.entries()) {
    const Meaning named = MeaningOf(entry.key);
    if (Among(entry.key, {"bool", "boolean"}) || Among(entry.value.Show(), {"bool", "boolean"}))
      return "{choice: [true, false]}";
    if (!entry.value.is_list()) continue;
    if (named.choices) return fmt::format("{{choice: {}}}", entry.value.Show());
    const auto items = *entry.value.List();
    if (named.range && items.size() >= 2)
      return Range(items[0].Show(), items[1].Show(), named.whole, named.log || meaning.log);
  }
  if (const ConfigNode* value = FindAny(map, {"value", "constant"}))
    return fmt::format("{{choice: [{}]}}", value->Show());
  return "";
}

}  // namespace

std::string SuggestParameter(const ConfigNode& node, const std::string& name) {
  std::string ours;
  if (node.is_map()) {
    ours = FromMap(*node.Map());
  } else if (node.is_list()) {
    ours = fmt::format("{{choice: {}}}", node.Show());
    const auto items = *node.List();
    if (std::ranges::all_of(items, &ConfigNode::is_map)) {  // "- float: [0, 1]" and "- log: true"
      std::string inner;
      for (const ConfigNode& item : items) {
        const std::string shown = item.Show();
        inner += (inner.empty() ? "" : ", ") + shown.substr(1, shown.size() - 2);
      }
      ours = fmt::format("{{{}}}", inner);
    }
    const auto number = [](const ConfigNode& item) { return IsWrittenAsNumber(item.Show()); };
    if (items.size() == 2 && std::ranges::all_of(items, number)) {
      const std::string low = items[0].Show();
      const std::string high = items[1].Show();
      return fmt::format("; write '{}: {}' for a range, or '{}: {}' for these two alone", name,
                         Range(low, high, IsWrittenWhole(low) && IsWrittenWhole(high), false), name,
                         ours);
    }
  } else if (node.is_scalar()) {
    const std::string shown = node.Show();
    ours = FromCall(Unquoted(shown));
    const auto ends = NumbersIn(node.Show());
    if (ours.empty() && ends.size() == 2)
      ours = Range(ends[0], ends[1], IsWrittenWhole(ends[0]) && IsWrittenWhole(ends[1]), false);
    if (ours.empty() && Among(node.Show(), {"bool", "boolean"})) ours = "{choice: [true, false]}";
    const bool plain = node.Show().find_first_of("[](){},") == std::string::npos;
    const bool list = NumbersIn(node.Show()).size() > 2;
    if (ours.empty() && list)
      ours = fmt::format("{{choice: [{}]}}", fmt::join(NumbersIn(node.Show()), ", "));
    if (ours.empty() && plain) ours = fmt::format("{{choice: [{}]}}", node.Show());
  }
  // A text that was shortened for a message cannot be copied into a file.
  if (ours.empty() || ours.contains("...")) return "";
  return fmt::format("; write '{}: {}'", name, ours);
}

const std::vector<std::pair<std::string, std::string>>& ForeignOptions() {
  static const auto& keys = *new std::vector<std::pair<std::string, std::string>>{
      {"q", "'step'"},
      {"quantization", "'step'"},
      {"if", "'when'"},
      {"condition", "'when'"},
      {"only_if", "'when'"},
      {"parent", "'when: PARAMETER == VALUE'"},
      {"scale", "'log: true'"},
      {"log_scale", "'log: true'"},
      {"logarithmic", "'log: true'"},
      {"distribution", "'law: normal', or 'log: true'"},
      {"prior", "'law: normal', or 'log: true'"},
      {"probabilities", "'weights'"},
      {"probs", "'weights'"},
      {"p", "'weights'"},
      {"mu", "'mean'"},
      {"std", "'sigma'"},
      {"stddev", "'sigma'"},
      {"ordered", "'ordinal' in place of 'choice'"},
      {"default", "'enqueue: [{NAME: VALUE}]' for what to try first"},
      {"init", "'enqueue: [{NAME: VALUE}]' for what to try first"},
      {"initial", "'enqueue: [{NAME: VALUE}]' for what to try first"}};
  return keys;
}

std::optional<BareList> FindBareList(const ConfigMap& map, const ConfigNode& first) {
  if (!first.is_scalar()) return std::nullopt;
  BareList found;
  std::string items = first.Show();
  for (const ConfigMap::Entry& entry : map.entries()) {
    if (!entry.value.is_null()) continue;
    found.swallowed.push_back(entry.key);
    items += ", " + entry.key;
  }
  for (const auto& [open, close] : {std::pair('\'', '\''), std::pair('(', ')')}) {
    if (items.size() > 1 && items.starts_with(open) && items.ends_with(close))
      items = items.substr(1, items.size() - 2);
  }
  std::ranges::replace(items, '|', ',');
  found.text = fmt::format("[{}]", items);
  if (const auto ends = NumbersIn(items); ends.size() == 2)
    found.text = fmt::format("[{}, {}]", ends[0], ends[1]);
  if (items.contains("...")) return std::nullopt;  // a shortened text cannot be copied
  return found;
}

std::string SuggestRange(const ConfigNode& node, std::string_view kind) {
  std::vector<std::string> ends;
  if (node.is_map()) {
    const ConfigMap map = *node.Map();
    const ConfigNode* low = FindAny(map, {"low", "min", "lower", "minimum", "start", "from"});
    const ConfigNode* high = FindAny(map, {"high", "max", "upper", "maximum", "stop", "end", "to"});
    if (low != nullptr && high != nullptr) ends = {low->Show(), high->Show()};
  } else if (node.is_scalar()) {
    ends = NumbersIn(node.Show());
  } else if (node.is_list()) {
    const auto items = *node.List();
    if (items.size() == 1) return SuggestRange(items.front(), kind);
    if (kind == "float" && items.size() == 4 &&
        std::ranges::all_of(items,
                            [](const ConfigNode& item) { return IsWrittenWhole(item.Show()); })) {
      return fmt::format("write '{}: [{}.{}, {}.{}]' if these are decimals, or 'choice: {}'", kind,
                         items[0].Show(), items[1].Show(), items[2].Show(), items[3].Show(),
                         node.Show());
    }
    if (items.size() == 3 && items[2].Show() == "log")
      return fmt::format("write '{}: [{}, {}], log: true'", kind, items[0].Show(), items[1].Show());
    if (items.size() == 3) {
      return fmt::format("write '{}: [{}, {}], step: {}' if the last is a step", kind,
                         items[0].Show(), items[1].Show(), items[2].Show());
    }
    if (items.size() > 3) return fmt::format("write 'choice: {}' for these values", node.Show());
  }
  return ends.size() == 2 ? fmt::format("write '{}: [{}, {}]'", kind, ends[0], ends[1]) : "";
}

}  // namespace sluice
