#include "space/foreign_parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
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

// "a": whether it is written as a whole number.
bool IsWrittenWhole(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
}

std::string Range(std::string_view low, std::string_view high, bool whole, bool log) {
  return fmt::format("{{{}: [{}, {}]{}}}", whole ? "int" : "float", low, high,
                     log ? ", log: true" : "");
}

// A word that names a law or a kind: uniform, suggest_loguniform, randint, ...
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
  meaning.whole = word.contains("int");
  meaning.range = meaning.whole || meaning.log || word.contains("uniform") ||
                  Among(word, {"float", "double", "real", "range", "bounds", "number"});
  return meaning;
}

// "tune.loguniform(1e-4, 1)"
std::string FromCall(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return "";
  std::string_view name = text.substr(0, open);
  name = name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  std::string arguments(text.substr(open + 1, text.size() - open - 2));
  const Meaning meaning = MeaningOf(std::string(name));
  if (meaning.choices)
    return fmt::format("{{choice: {}}}",
                       arguments.starts_with('[') ? arguments : "[" + arguments + "]");
  const std::size_t comma = arguments.find(',');
  if (!meaning.range || comma == std::string::npos) return "";
  std::string high = arguments.substr(comma + 1);
  high = high.substr(0, high.find(','));
  high.erase(0, high.find_first_not_of(' '));
  return Range(arguments.substr(0, comma), high, meaning.whole, meaning.log);
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
  } else if (node.is_scalar()) {
    ours = FromCall(node.Show());
    if (ours.empty()) ours = fmt::format("{{choice: [{}]}}", node.Show());
  }
  // What was shortened for a message is none to copy.
  if (ours.empty() || ours.contains("...")) return "";
  return fmt::format("; write '{}: {}'", name, ours);
}

}  // namespace sluice
