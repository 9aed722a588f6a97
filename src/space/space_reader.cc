#include "space/space_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "space/condition_reader.h"
#include "space/foreign_parameter.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxParameters = 1000;
constexpr std::size_t kMaxChoices = 1000;
// Points hold integers as doubles, which are exact up to this size.
constexpr std::int64_t kLargestInteger = (std::int64_t{1} << 53) - 1;

struct KindWord {
  std::string word;
  ParameterKind kind;
};

struct LawWord {
  std::string word;
  Law law;
  std::string first;  // the keys of the law's two numbers
  std::string second;
};

const std::vector<LawWord>& LawWords() {
  static const auto& words =
      *new std::vector<LawWord>{{"uniform", Law::kUniform, "", ""},
                                {"log", Law::kLog, "", ""},
                                {"inverse_log", Law::kInverseLog, "", ""},
                                {"normal", Law::kNormal, "mean", "sigma"},
                                {"lognormal", Law::kLogNormal, "mean", "sigma"},
                                {"beta", Law::kBeta, "alpha", "beta"}};
  return words;
}

const std::vector<KindWord>& KindWords() {
  static const auto& words =
      *new std::vector<KindWord>{{"float", ParameterKind::kFloat},
                                 {"int", ParameterKind::kInt},
                                 {"choice", ParameterKind::kCategorical},
                                 {"categorical", ParameterKind::kCategorical},
                                 {"ordinal", ParameterKind::kOrdinal}};
  return words;
}

// Keys that may stand beside a kind.
const std::vector<std::string>& OptionWords() {
  static const auto& words = *new std::vector<std::string>{
      "log", "step", "law", "mean", "sigma", "alpha", "beta", "weights", "when"};
  return words;
}

std::string SuggestName(std::string_view name) {
  std::string fits;
  for (const char c : name.substr(0, kLongestName - 1)) {
    const std::string_view letter(&c, 1);
    fits += IsParameterName("a" + std::string(letter)) ? c : '_';
  }
  return IsParameterName(fits) ? fits : "p" + fits;
}

bool CheckName(const ConfigNode& node, const std::string& name,
               const std::vector<std::string>& reserved) {
  if (!IsParameterName(name)) {
    node.Report(fmt::format(
        "expected a name of at most {} letters, digits, '_', '.' and '-' that begins with a letter "
        "or '_', found '{}'; write '{}'",
        kLongestName, Shown(name), SuggestName(name)));
    return false;
  }
  if (std::ranges::find(reserved, name) != reserved.end()) {
    node.Report(fmt::format(
        "expected a name other than {}, which mean something in templates; rename the parameter",
        Join(reserved)));
    return false;
  }
  return true;
}

std::optional<double> ReadBound(const ConfigNode& node, ParameterKind kind) {
  if (kind == ParameterKind::kFloat) return node.Number();
  const auto value = node.Integer({.min = -kLargestInteger,
                                   .max = kLargestInteger,
                                   .fraction = "write 'float' for one that need not be whole"});
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

bool ReadRange(const ConfigNode& node, Parameter& parameter) {
  const ConfigNode named = node.Named(parameter.name);
  const auto ends = node.is_list() ? node.List() : std::nullopt;
  if (!ends || ends->size() != 2) {
    named.Expected("a range [low, high]",
                   SuggestRange(node, parameter.kind == ParameterKind::kInt ? "int" : "float"));
    return false;
  }
  const auto low = ReadBound((*ends)[0].Named(parameter.name), parameter.kind);
  const auto high = ReadBound((*ends)[1].Named(parameter.name), parameter.kind);
  if (!low || !high) return false;
  parameter.low = *low;
  parameter.high = *high;
  if (!(*low < *high)) {
    named.Expected(
        "low < high",
        *high < *low ? fmt::format("write [{}, {}]", (*ends)[1].Show(), (*ends)[0].Show()) : "");
    return false;
  }
  if (!std::isfinite(*high - *low)) {
    named.Expected("a range narrower than the largest number");
    return false;
  }
  return true;
}

bool ReadStep(const ConfigNode& node, Parameter& parameter) {
  const auto step = ReadBound(node, parameter.kind);
  if (!step) return false;
  if (*step > 0 && *step <= parameter.high - parameter.low) {
    parameter.step = *step;
    return true;
  }
  node.Expected(fmt::format("a step above 0 and of at most {}, the width of the range",
                            parameter.high - parameter.low));
  return false;
}

// Reads the law and its numbers. Adds the keys that the law takes to `known`.
bool ReadLaw(const ConfigMap& map, Parameter& parameter, std::vector<std::string>& known) {
  const ConfigNode* node = map.Find("law");
  if (node == nullptr) return true;
  std::vector<std::string> names;
  for (const LawWord& word : LawWords()) names.push_back(word.word);
  const bool log =
      node->is_scalar() && node->Show().contains("log") && node->Show().contains("uniform");
  const auto name =
      log ? (node->Expected("a law", "write 'log'"), std::nullopt) : node->OneOf(names);
  if (!name) {
    for (const LawWord& word : LawWords()) known.insert(known.end(), {word.first, word.second});
    return false;
  }
  const LawWord& word = *std::ranges::find(LawWords(), *name, &LawWord::word);
  if (const ConfigNode* log = map.Find("log")) {
    log->Report("expected either log or law, found both; remove one");
    return false;
  }
  parameter.law = word.law;
  if (word.first.empty()) return true;
  known.insert(known.end(), {word.first, word.second});
  bool good = true;
  for (const auto& [key, into] :
       {std::pair(&word.first, &parameter.first), std::pair(&word.second, &parameter.second)}) {
    const bool renamed =
        map.Find(*key) == nullptr &&
        std::ranges::any_of(ForeignOptions(), [&](const auto& foreign) {
          return foreign.second == fmt::format("'{}'", *key) && map.Find(foreign.first) != nullptr;
        });
    if (renamed) {  // the foreign key is reported with the other keys
      good = false;
      continue;
    }
    const ConfigNode* value = map.Require(*key, fmt::format("a number, since law is {}", *name),
                                          fmt::format("add '{}: 1'", *key));
    const auto number = value != nullptr ? value->Number() : std::nullopt;
    good = good && number;
    if (number) *into = *number;
  }
  return good;
}

bool ReadNumeric(const ConfigMap& map, const ConfigNode& range, Parameter& parameter) {
  if (!ReadRange(range, parameter)) return false;
  bool good = true;
  if (const ConfigNode* log = map.Find("log")) {
    const auto value = log->Boolean();
    good = value.has_value();
    if (value.value_or(false)) parameter.law = Law::kLog;
    if (parameter.law == Law::kLog && parameter.low <= 0) {
      range.Named(parameter.name).Expected("low > 0, since log is true", "raise low or remove log");
      good = false;
    }
  }
  if (const ConfigNode* step = map.Find("step")) {
    good = ReadStep(*step, parameter) && good;
  }
  return good;
}

// `meant` is the list that the user probably meant, if the value is not a list.
bool ReadChoices(const ConfigNode& node, std::string_view meant, Parameter& parameter) {
  const ConfigNode named = node.Named(parameter.name);
  const auto items = node.is_list() ? node.List() : std::nullopt;
  if (!items || items->empty()) {
    named.Expected("a list of choices with at least one",
                   meant.empty() ? "" : fmt::format("write 'choice: {}'", meant));
    return false;
  }
  if (items->size() > kMaxChoices) {
    named.Report(fmt::format("expected at most {} choices, found {}", kMaxChoices, items->size()));
    return false;
  }
  bool good = true;
  std::set<std::string> seen;
  for (const ConfigNode& item : *items) {
    const ConfigNode choice = item.Named(parameter.name);
    if (choice.is_list() || choice.is_map()) {
      choice.Expected("a text, a number, true or false",
                      "quote each choice that is more, as in \"64,64\", and take it apart in the "
                      "program");
      return false;
    }
    const auto value = choice.Value();
    if (!value) {
      good = false;
      continue;
    }
    // 1 and '1' are the same choice to a program that gets them as arguments.
    if (!seen.insert(FormatValue(*value)).second) {
      choice.Report(
          fmt::format("expected each choice once, found {} again; remove one", choice.Show()));
      good = false;
      continue;
    }
    parameter.choices.push_back(*value);
  }
  return good;
}

// Weights are in any unit: only their ratios count.
bool ReadWeights(const ConfigNode& node, Parameter& parameter) {
  const auto items = node.is_list() ? node.List() : std::nullopt;
  if (!items || items->size() != parameter.choices.size()) {
    node.Expected(
        fmt::format("a list of {} weights, one for each choice", parameter.choices.size()));
    return false;
  }
  double sum = 0;
  for (const ConfigNode& item : *items) {
    const auto weight = item.Named(node.path()).Number({.min = 0, .max = 1e6});
    if (!weight) return false;
    parameter.weights.push_back(*weight);
    sum += *weight;
  }
  if (sum == 0) {
    node.Expected("a weight above 0");
    return false;
  }
  for (double& weight : parameter.weights) weight /= sum;
  return true;
}

// Advice for a user who wrote a list of parameters. `item` is the first item of the list.
std::string SuggestByName(const ConfigNode& item) {
  const auto map = item.is_map() ? item.Map() : std::nullopt;
  const ConfigNode* name = map ? map->Find("name") : nullptr;
  if (name == nullptr) {
    return map && map->entries().size() == 1 ? "remove the '- ' before each name"
                                             : "write 'lr: {float: [0.1, 1]}' and so on";
  }
  // Katib has the range in a map of its own.
  const ConfigNode* inner = map->Find("feasibleSpace");
  std::string suggested = SuggestParameter(inner != nullptr ? *inner : item, name->Show());
  if (suggested.empty()) suggested = fmt::format("; write '{}: {{float: [0.1, 1]}}'", name->Show());
  return suggested.substr(2) + ", and so on";
}

// Whether all values of a map are maps, as parameters are.
bool IsGroup(const ConfigMap& map) {
  return !map.entries().empty() &&
         std::ranges::all_of(map.entries(),
                             [](const ConfigMap::Entry& entry) { return entry.value.is_map(); });
}

std::optional<DescribedParameter> ReadParameter(const ConfigNode& node, const std::string& name) {
  if (!node.is_map()) {
    const std::string suggested = SuggestParameter(node, name);
    node.Expected("a parameter such as {float: [0.1, 1]}, {int: [1, 4]} or {choice: [a, b]}",
                  suggested.empty() ? "" : suggested.substr(2));
    return std::nullopt;
  }
  const ConfigMap map = *node.Map();
  const ConfigMap::Entry* found = nullptr;
  DescribedParameter described;
  Parameter& parameter = described.parameter;
  parameter.name = name;
  for (const ConfigMap::Entry& entry : map.entries()) {
    const auto word = std::ranges::find(KindWords(), entry.key, &KindWord::word);
    if (word == KindWords().end()) continue;
    if (found != nullptr) {
      entry.value.Named(name).Report(
          fmt::format("expected one kind, found {} and {}; remove one", found->key, entry.key));
      return std::nullopt;
    }
    found = &entry;
    parameter.kind = word->kind;
  }
  std::vector<std::string> known;
  if (found == nullptr) {
    for (const KindWord& word : KindWords()) known.push_back(word.word);
    const auto typed = std::ranges::find_if(map.entries(), [](const ConfigMap::Entry& entry) {
      return std::ranges::find(OptionWords(), entry.key) == OptionWords().end();
    });
    const bool any = typed != map.entries().end();
    if (IsGroup(map)) {
      node.Report(
          fmt::format("expected a parameter such as {{float: [0.1, 1]}}, found a group of them, "
                      "and a space has "
                      "no groups; write '{0}.{1}: {2}' in place of '{1}' below '{0}', and so on",
                      name, Shown(typed->key), typed->value.Show()));
      return std::nullopt;
    }
    const ConfigNode& at = any ? typed->value : node;
    at.Named(name).Report(fmt::format(
        "expected a kind: {}, found {}{}{}", Join(known), any ? Shown(typed->key) : "none",
        any ? DidYouMean(typed->key, known) : "", SuggestParameter(node, name)));
    return std::nullopt;
  }
  known.push_back(found->key);
  bool good = true;
  const auto bare = FindBareList(map, found->value);
  if (bare) known.insert(known.end(), bare->swallowed.begin(), bare->swallowed.end());
  if (parameter.has_choices()) {
    known.emplace_back("weights");
    std::string meant = bare ? bare->text : "";
    if (found->value.is_map() && found->value.Map()->Find("values") != nullptr) {
      meant = found->value.Map()->Find("values")->Show();
    } else if (found->value.is_map()) {  // choices with their weights
      std::vector<std::string> names;
      std::vector<std::string> weights;
      const ConfigMap given = *found->value.Map();
      for (const ConfigMap::Entry& entry : given.entries()) {
        names.push_back(entry.key);
        weights.push_back(entry.value.Show());
      }
      const bool weighted = std::ranges::none_of(
          given.entries(), [](const ConfigMap::Entry& entry) { return entry.value.is_null(); });
      meant = weighted ? fmt::format("[{}], weights: [{}]", Join(names), Join(weights))
                       : fmt::format("[{}]", Join(names));
    }
    good = ReadChoices(found->value, meant, parameter);
    const ConfigNode* weights = map.Find("weights");
    if (good && weights != nullptr) good = ReadWeights(*weights, parameter);
  } else {
    known.insert(known.end(), {"log", "step", "law"});
    good = ReadLaw(map, parameter, known);
    if (bare && !bare->swallowed.empty()) {
      found->value.Named(name).Expected("a range [low, high]",
                                        fmt::format("write '{}: {}'", found->key, bare->text));
      good = false;
    } else {
      good = ReadNumeric(map, found->value, parameter) && good;
    }
  }
  known.emplace_back("when");
  map.AllowOnly(known, ForeignOptions());
  if (const ConfigNode* when = map.Find("when")) {
    const auto condition = ReadCondition(*when);
    good = good && condition;
    parameter.when = condition.value_or("");
    described.when = *when;
  }
  if (!good) return std::nullopt;
  if (const Status status = CheckParameter(parameter); !status) {
    // The message already names the parameter.
    node.Named("").Report(status.error().message);
    return std::nullopt;
  }
  return described;
}

}  // namespace

bool IsParameterName(std::string_view text) {
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const auto inner = [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
  };
  return !text.empty() && text.size() <= kLongestName && letter(text.front()) &&
         std::ranges::all_of(text, inner);
}

bool IsParameter(const ConfigNode& node) {
  const auto map = node.is_map() ? node.Map() : std::nullopt;
  return map && std::ranges::any_of(map->entries(), [](const ConfigMap::Entry& entry) {
           return std::ranges::find(KindWords(), entry.key, &KindWord::word) != KindWords().end();
         });
}

std::optional<Space> ReadSpace(const ConfigNode& node, const SpaceSurroundings& around) {
  const auto map = node.is_map() ? node.Map() : std::nullopt;
  if (node.is_list() && !node.List()->empty()) {
    node.Report(fmt::format("expected parameters by their names, found a list; {}",
                            SuggestByName(node.List()->front())));
    return std::nullopt;
  }
  if (!map || map->entries().empty()) {
    node.Expected("at least one parameter", "write 'lr: {float: [0.1, 1]}' below it");
    return std::nullopt;
  }
  if (map->entries().size() > kMaxParameters) {
    node.Report(fmt::format("expected at most {} parameters, found {}", kMaxParameters,
                            map->entries().size()));
    return std::nullopt;
  }
  std::vector<DescribedParameter> parameters;
  bool good = true;
  for (const auto& [name, value] : map->entries()) {
    const ConfigNode named = value.Named(name);
    if (!parameters.empty() && !value.is_map() &&
        std::ranges::find(OptionWords(), name) != OptionWords().end()) {
      named.Report(fmt::format(
          "expected a parameter, found '{0}: {1}', which stands beside '{2}' and not below it; "
          "indent '{0}' further, like the kind of '{2}'",
          name, value.Show(), parameters.back().parameter.name));
      good = false;
      continue;
    }
    const bool parameters_alike = IsParameter(value) || (value.is_map() && IsGroup(*value.Map()));
    if (std::ranges::find(around.beside, name) != around.beside.end() && !parameters_alike) {
      named.Report(fmt::format(
          "expected a parameter, found a key of the study; '{}' belongs beside '{}' and "
          "not below it: indent both lines equally",
          name, node.path()));
      good = false;
      continue;
    }
    const bool name_good = CheckName(named, name, around.reserved);
    auto parameter = ReadParameter(named, name);
    good = good && name_good && parameter.has_value();
    if (parameter) parameters.push_back(std::move(*parameter));
  }
  if (!good) return std::nullopt;
  return AssembleSpace(parameters, around.constraints);
}

}  // namespace sluice
