#include "engine/read/sweep/sweep_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "engine/read/arguments_codec.h"
#include "engine/read/sweep/sweep_distribution.h"
#include "space/space_reader.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxParameters = 1000;
constexpr std::size_t kMaxChoices = 1000;
constexpr std::size_t kMaxDepth = 16;
constexpr double kWeightSlack = 1e-6;  // how far the sum of probabilities may be from 1

// Any value as JSON; nothing if it contains an infinity or a NaN.
std::optional<std::string> JsonOf(const ConfigNode& node) {
  if (node.is_null()) return "null";
  std::vector<std::string> parts;
  if (node.is_list()) {
    const auto items = *node.List();
    for (const ConfigNode& item : items) {
      const auto part = JsonOf(item.Named(node.path()));
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    return fmt::format("[{}]", fmt::join(parts, ","));
  }
  if (node.is_map()) {
    const ConfigMap map = *node.Map();
    for (const auto& [key, value] : map.entries()) {
      const auto part = JsonOf(value.Named(node.path()));
      if (!part) return std::nullopt;
      parts.push_back(fmt::format("{}:{}", ChoiceJson(key), *part));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ","));
  }
  const auto value = node.Value();
  if (!value) return std::nullopt;
  return ChoiceJson(*value);
}

class ParametersReader {
 public:
  ParametersReader(SweepSpec& sweep, std::vector<std::string>& notes)
      : sweep_(sweep), notes_(notes) {}

  std::optional<Space> Read(const ConfigNode& node) {
    ReadMap(node, {});
    if (!good_) return std::nullopt;
    auto space = Space::Make(std::move(parameters_));
    if (!space) {
      node.Report(space.error().message);
      return std::nullopt;
    }
    return std::move(*space);
  }

 private:
  void ReadMap(const ConfigNode& node, const std::vector<std::string>& path) {
    const auto map = node.is_map() ? node.Map() : std::nullopt;
    if (!map || map->entries().empty())
      return Bad([&] {
        node.Expected("parameters by their names", node.is_list()
                                                       ? "remove the '- ' before each name"
                                                       : "write 'lr: {min: 0.1, max: 1}'");
      });
    if (path.size() >= kMaxDepth) {
      return Bad([&] {
        node.Report(
            fmt::format("expected at most {} parameters inside each other, found more", kMaxDepth));
      });
    }
    for (const auto& [key, value] : map->entries()) {
      if (parameters_.size() >= kMaxParameters) {
        return Bad([&] {
          node.Report(fmt::format("expected at most {} parameters, found more", kMaxParameters));
        });
      }
      std::vector<std::string> keys = path;
      keys.push_back(key);
      ReadEntry(value, keys);
    }
  }

  void ReadEntry(const ConfigNode& value, const std::vector<std::string>& path) {
    const std::string name = Join(path, ".");
    const ConfigNode node = value.Named(Shown(name));
    if (!IsParameterName(path.back()) || name.size() > kLongestName) {
      return Bad([&] {
        node.Report(fmt::format(
            "expected a name of at most {} letters, digits, '_', '.' and '-' that begins with a "
            "letter or '_', found '{}'",
            kLongestName, Shown(path.back())));
      });
    }
    if (!node.is_map()) {
      return Bad([&] {
        const std::string shown = node.Show();
        node.Expected("a parameter such as {min: 0.1, max: 1}, {values: [a, b]} or {value: 3}",
                      node.is_list()     ? fmt::format("write '{{values: {}}}'", shown)
                      : node.is_scalar() ? fmt::format("write '{{value: {}}}'", shown)
                                         : "");
      });
    }
    const ConfigMap map = *node.Map();
    if (const ConfigNode* inner = map.Find("parameters")) {
      const std::vector<std::string> allowed = {"parameters"};
      map.AllowOnly(allowed);
      return ReadMap(inner->Named(Shown(name)), path);
    }
    auto parameter = ReadParameter(node, map, name);
    if (parameter) {
      if (const Status status = CheckParameter(*parameter); !status) {
        node.Named("").Report(status.error().message);  // the message names the parameter
        parameter.reset();
      }
    }
    if (!parameter) {
      good_ = false;
      return;
    }
    if (path.size() > 1) sweep_.paths[name] = path;
    parameters_.push_back(std::move(*parameter));
  }

  std::optional<Parameter> ReadParameter(const ConfigNode& node, const ConfigMap& map,
                                         const std::string& name) {
    const ConfigNode* distribution = map.Find("distribution");
    const ConfigNode* value = map.Find("value");
    const ConfigNode* values = map.Find("values");
    if (value != nullptr && values != nullptr) {
      node.Report("expected either value or values, found both; remove one");
      return std::nullopt;
    }
    if (distribution == nullptr) {
      if (value != nullptr) return ReadConstant(map, *value, name);
      if (values != nullptr) return ReadChoices(node, map, *values, name);
      if (map.Find("min") != nullptr || map.Find("max") != nullptr)
        return ReadSweepNumbers(node, map, name, notes_);
      return ReportShape(node, map);
    }
    const auto word = ReadSweepDistribution(*distribution);
    if (!word) return std::nullopt;
    if (*word == "constant") {
      const ConfigNode* found = map.Require("value", "the constant's value", "add 'value: ...'");
      return found != nullptr ? ReadConstant(map, *found, name) : std::nullopt;
    }
    if (*word == "categorical" || *word == "categorical_w_probabilities") {
      const ConfigNode* found = map.Require("values", "a list of values", "add 'values: [...]'");
      if (found == nullptr) return std::nullopt;
      if (*word != "categorical" && map.Require("probabilities", "a probability for each value",
                                                "add 'probabilities: [...]'") == nullptr) {
        return std::nullopt;
      }
      return ReadChoices(node, map, *found, name);
    }
    return ReadSweepNumbers(node, map, name, notes_);
  }

  static std::optional<Parameter> ReportShape(const ConfigNode& node, const ConfigMap& map) {
    const std::vector<std::string> known = {
        "value",      "values", "probabilities", "min", "max", "distribution",
        "parameters", "mu",     "sigma",         "q",   "a",   "b"};
    const bool group = !map.entries().empty() &&
                       std::ranges::all_of(map.entries(), [](const ConfigMap::Entry& entry) {
                         return entry.value.is_map();
                       });
    if (group) {
      node.Report(fmt::format(
          "expected value, values, or min and max, found parameters; put them under a 'parameters' "
          "of its own: {}: {{parameters: {{{}: ...}}}}",
          node.path(), Shown(map.entries().front().key)));
      return std::nullopt;
    }
    const std::vector<std::pair<std::string, std::string>> foreign = {
        {"low", "'min'"},
        {"high", "'max'"},
        {"lower", "'min'"},
        {"upper", "'max'"},
        {"choices", "'values'"},
        {"choice", "'values'"},
        {"options", "'values'"},
        {"mean", "'mu'"},
        {"std", "'sigma'"},
        {"type", "'distribution'"},
        {"default", "'value' for a constant"},
        {"float", "'min' and 'max'"},
        {"int", "'min' and 'max'"},
        {"range", "'min' and 'max'"}};
    const bool strange = std::ranges::any_of(map.entries(), [&](const ConfigMap::Entry& entry) {
      return std::ranges::find(known, entry.key) == known.end();
    });
    if (!strange) node.Expected("one of value, values, min and max, distribution, parameters");
    map.AllowOnly(known, foreign);
    return std::nullopt;
  }

  std::optional<Parameter> ReadConstant(const ConfigMap& map, const ConfigNode& value,
                                        const std::string& name) {
    const std::vector<std::string> allowed = {"value", "distribution"};
    map.AllowOnly(allowed);
    std::vector<std::size_t> places;
    return MakeChoices({value}, name, places);
  }

  std::optional<Parameter> ReadChoices(const ConfigNode& node, const ConfigMap& map,
                                       const ConfigNode& values, const std::string& name) {
    const std::vector<std::string> allowed = {"values", "probabilities", "distribution"};
    map.AllowOnly(allowed);
    const auto items = values.is_list() ? values.List() : std::nullopt;
    if (!items || items->empty()) {
      values.Expected("a list of values with at least one",
                      values.is_scalar() ? fmt::format("write 'values: [{}]'", values.Show())
                                         : "write 'value: ...' for a constant");
      return std::nullopt;
    }
    if (items->size() > kMaxChoices) {
      node.Report(fmt::format("expected at most {} values, found {}", kMaxChoices, items->size()));
      return std::nullopt;
    }
    std::vector<std::size_t> places;
    auto parameter = MakeChoices(*items, name, places);
    if (!parameter) return std::nullopt;
    std::vector<double> weights(items->size(), 1.0 / static_cast<double>(items->size()));
    const ConfigNode* given = map.Find("probabilities");
    if (given != nullptr && !ReadWeights(*given, weights)) return std::nullopt;
    const bool repeated = parameter->choices.size() < items->size();
    if (repeated) {
      notes_.push_back(
          fmt::format("{}: a value that is given several times is drawn that many times as often, "
                      "but tried only once by grid",
                      name));
    }
    if (given == nullptr && !repeated) return parameter;
    parameter->weights.assign(parameter->choices.size(), 0);
    for (std::size_t i = 0; i < places.size(); ++i) parameter->weights[places[i]] += weights[i];
    return parameter;
  }

  // Makes each distinct value a choice. `places` gets the index of the choice for each item.
  std::optional<Parameter> MakeChoices(const std::vector<ConfigNode>& items,
                                       const std::string& name, std::vector<std::size_t>& places) {
    Parameter parameter;
    parameter.name = name;
    parameter.kind = ParameterKind::kCategorical;
    const bool structured =
        !std::ranges::all_of(items, [](const ConfigNode& item) { return item.is_scalar(); });
    if (structured) sweep_.structured.insert(name);
    std::map<std::string, std::size_t> seen;
    for (const ConfigNode& item : items) {
      const ConfigNode choice = item.Named(name);
      const auto json = JsonOf(choice);
      if (!json) return std::nullopt;
      Choice value = structured ? Choice(*json) : *choice.Value();
      const auto [found, fresh] = seen.try_emplace(FormatValue(value), seen.size());
      places.push_back(found->second);
      if (fresh) parameter.choices.push_back(std::move(value));
    }
    return parameter;
  }

  // Reads one weight for each value.
  static bool ReadWeights(const ConfigNode& node, std::vector<double>& weights) {
    const auto items = node.is_list() ? node.List() : std::nullopt;
    if (!items || items->size() != weights.size()) {
      node.Expected(fmt::format("a list of {} probabilities, one for each value", weights.size()));
      return false;
    }
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto weight = (*items)[i].Number({.min = 0, .max = 1});
      if (!weight) return false;
      weights[i] = *weight;
      sum += *weight;
    }
    if (std::abs(sum - 1) > kWeightSlack) {
      node.Report(fmt::format("expected probabilities that add up to 1, found {:.6g}", sum));
      return false;
    }
    for (double& weight : weights) weight /= sum;
    return true;
  }

  template <typename Report>
  void Bad(Report report) {
    report();
    good_ = false;
  }

  SweepSpec& sweep_;
  std::vector<std::string>& notes_;
  std::vector<Parameter> parameters_;
  bool good_ = true;
};

}  // namespace

std::optional<Space> ReadSweepParameters(const ConfigNode& node, SweepSpec& sweep,
                                         std::vector<std::string>& notes) {
  return ParametersReader(sweep, notes).Read(node);
}

}  // namespace sluice
