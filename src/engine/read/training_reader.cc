#include "engine/read/training_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/read/data_reader.h"
#include "engine/read/foreign_keys.h"
#include "recipe/fields.h"

namespace sluice {
namespace {

constexpr double kMostScale = 1e6;
constexpr std::string_view kNetwork = "a file of torch.export, or zoo:NAME";

// Values of parameters that are put into a setting to see whether they fit it. Of more values, the
// first are looked at.
constexpr std::size_t kMostTried = 1000;

// The keys directly below a path of the recipe, such as "train.schedule".
std::vector<std::string> KeysBelow(std::string_view path) {
  std::vector<std::string> keys;
  const std::string prefix = fmt::format("{}.", path);
  for (const recipe::Field& field : recipe::Fields()) {
    if (!field.path.starts_with(prefix)) continue;
    const std::string_view rest = field.path.substr(prefix.size());
    std::string key(rest.substr(0, rest.find('.')));
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
  }
  return keys;
}

const recipe::Field* FieldOf(std::string_view path) {
  const auto found = std::ranges::find(recipe::Fields(), path, &recipe::Field::path);
  return found == recipe::Fields().end() ? nullptr : &*found;
}

// The texts that a parameter can put into a setting; of a range, its ends.
std::vector<std::string> TextsOf(const Parameter& parameter) {
  std::vector<std::string> texts;
  if (parameter.has_choices()) {
    for (const Choice& choice : parameter.choices) texts.push_back(FormatValue(choice));
  } else {
    for (const double end : {parameter.low, parameter.high}) {
      texts.push_back(parameter.kind == ParameterKind::kInt
                          ? FormatValue(static_cast<std::int64_t>(end))
                          : FormatValue(end));
    }
  }
  if (texts.size() > kMostTried) texts.resize(kMostTried);
  return texts;
}

class TrainingReader {
 public:
  TrainingReader(const ConfigMap& study, const TrainingContext& context, StudySpec& spec)
      : study_(study), context_(context), spec_(spec) {}

  void Read() {
    const ConfigNode& train = *study_.Find("train");
    if (const ConfigNode* program = study_.Find("program")) {
      program->Report(
          "expected no program beside 'train', since sluice-trainer trains the trials; remove one "
          "of the two keys");
    }
    if (train.is_scalar()) {
      return train.Expected("how to train, as in {optimizer: sgd, lr: 0.1, batch: 32}",
                            train.Show().contains(' ')
                                ? fmt::format("write 'program: {}' for a program", train.Show())
                                : "");
    }
    if (const ConfigNode* data =
            study_.Require("data", "the data to train on", "add 'data: FOLDER'"))
      recipe_.data = ReadDataSpec(*data);
    if (const ConfigNode* model = study_.Require("model", "the network to train",
                                                 "add 'model: zoo:mlp', or 'model: net.pt2'"))
      ReadValue("model", *model);
    ReadValue("train", train);
    ReadLength(train);
    if (recipe_.settings.size() > recipe::kMostSettings)
      return train.Report(
          fmt::format("expected at most {} values, found {}; say less in dropout, or in lists",
                      recipe::kMostSettings, recipe_.settings.size()));
    ReportMistakes();
    if (context_.space_good) {
      TryParameters();
      FollowParameters();
    }
    spec_.training = std::move(recipe_);
  }

 private:
  void ReadLength(const ConfigNode& train) {
    if (!context_.budget_good) return;
    recipe_.unit = spec_.unit;
    const ConfigNode* budget = study_.Find("budget");
    if (spec_.unit != "epoch" && spec_.unit != "step") {
      budget->Report(
          fmt::format("expected the unit epoch or step beside 'train', found '{}'", spec_.unit));
      recipe_.unit = "epoch";
    }
    if (spec_.stopper.max_budget != kNoLimit) {
      recipe_.length = spec_.stopper.max_budget;
    } else {
      (budget != nullptr ? *budget : train.Named("budget"))
          .Report(
              "expected how far each trial trains, found nothing; add 'budget: {max: 10}' for ten "
              "epochs");
    }
  }

  // Reads what is at a path of the recipe: a value, a list, or a map of values.
  void ReadValue(const std::string& path, const ConfigNode& node) {
    nodes_.emplace(path, node);
    const recipe::Field* field = FieldOf(path);
    if (field == nullptr) return ReadGroup(path, node);
    using Form = recipe::FieldForm;
    if (field->form == Form::kList) {
      const auto items = node.is_list() ? node.List() : std::nullopt;
      if (!items) return node.Expected("a list", fmt::format("write '[{}]'", node.Show()));
      for (std::size_t i = 0; i < items->size(); ++i)
        ReadText(fmt::format("{}.{}", path, i), (*items)[i]);
      if (items->empty()) node.Expected("a list that is not empty", "remove the key");
    } else if (field->form == Form::kNumberOrMap && node.is_map() && !IsBareTemplate(node)) {
      const ConfigMap map = *node.Map();
      for (const auto& [key, value] : map.entries())
        ReadText(fmt::format("{}.{}", path, key), value);
    } else {
      ReadText(path, node);
    }
  }

  void ReadGroup(const std::string& path, const ConfigNode& node) {
    // The key that a group with one word alone means.
    const std::string word = path == "model" ? "network" : path == "train.schedule" ? "name" : "";
    if (!word.empty() && (node.is_scalar() || IsBareTemplate(node)))
      return ReadText(fmt::format("{}.{}", path, word), node);
    const auto map = node.Map(fmt::format("write its keys below '{}:'", path));
    if (!map) return;
    const std::vector<std::string> keys = KeysBelow(path);
    map->AllowOnly(keys, ForeignKeysOf(path));
    for (const std::string& key : keys) {
      const std::string below = fmt::format("{}.{}", path, key);
      const recipe::Field* field = FieldOf(below);
      const ConfigNode* value = map->Find(key);
      if (value != nullptr) {
        ReadValue(below, *value);
      } else if (field != nullptr && field->required) {
        map->Require(key, Wanted(below), fmt::format("add '{}: {}'", key, Example(below)));
      }
    }
  }

  static std::string_view Wanted(std::string_view path) {
    if (path == "model.network") return kNetwork;
    if (path == "train.optimizer") return "how weights are changed";
    if (path == "train.lr") return "the learning rate";
    return "how many examples are in a batch";
  }
  static std::string_view Example(std::string_view path) {
    if (path == "model.network") return "net.pt2";
    if (path == "train.optimizer") return "sgd";
    return path == "train.lr" ? "0.1" : "32";
  }

  // {NAME} without quotes, which YAML reads as a map.
  static bool IsBareTemplate(const ConfigNode& node) {
    if (!node.is_map()) return false;
    const ConfigMap map = *node.Map();
    return map.entries().size() == 1 && map.entries().front().value.is_null();
  }

  void ReadText(const std::string& path, const ConfigNode& node) {
    nodes_.emplace(path, node);
    std::string& setting = recipe_.settings[path];
    if (IsBareTemplate(node)) {
      const std::string name = node.Map()->entries().front().key;
      setting = fmt::format("{{{}}}", name);  // to report no more of it
      return node.Report(
          fmt::format("expected a value, found {{{0}}} without quotes, which YAML "
                      "takes for a map; write '\"{{{0}}}\"'",
                      Shown(name)));
    }
    if (!node.is_scalar() || node.is_null()) {
      bad_.insert(path);
      return node.Expected("one value");
    }
    const auto text = node.Text();
    if (text) setting = *text;
    if (!text || !CheckText(node, *text)) bad_.insert(path);
  }

  bool CheckText(const ConfigNode& node, const std::string& text) {
    if (text.size() > recipe::kLongestSetting || node.path().size() > recipe::kLongestSetting) {
      node.Report(
          fmt::format("expected a key and a value of at most {} bytes", recipe::kLongestSetting));
      return false;
    }
    if (context_.names.empty()) return true;  // the space has mistakes
    if (const Status status = CheckTemplate(text, context_.names); !status) {
      node.Report(status.error().message);
      return false;
    }
    for (const std::string_view word : WordsIn(text)) {
      if (context_.names.contains(word)) continue;
      node.Report(fmt::format(
          "expected a parameter of the space in braces, since other words are for programs alone, "
          "found '{{{}}}'",
          Shown(word)));
      return false;
    }
    return true;
  }

  // The value at a path of the recipe in the file, or what is nearest above it.
  ConfigNode NodeAt(std::string_view path) const {
    std::string_view above = path;
    while (!nodes_.contains(above)) above = above.substr(0, above.rfind('.'));
    const ConfigNode& node = nodes_.find(above)->second;
    return above == path ? node
                         : node.Named(fmt::format("{}{}", node.path(), path.substr(above.size())));
  }

  void ReportMistakes() const {
    for (const recipe::Mistake& mistake : recipe::CheckRecipe(recipe_)) {
      const recipe::Field* field = FieldOf(mistake.path);
      const bool missing =
          field != nullptr && field->required && !recipe_.settings.contains(mistake.path);
      // What is missing was reported where its section was read.
      if (missing || bad_.contains(mistake.path) || !Begins(mistake.path)) continue;
      NodeAt(mistake.path).Report(mistake.message);
    }
  }

  bool Begins(std::string_view path) const {
    return nodes_.contains(path.substr(0, path.find('.')));
  }

  // Puts the values that parameters can have into the settings that name them.
  void TryParameters() const {
    for (const auto& [path, text] : recipe_.settings) {
      if (bad_.contains(path)) continue;
      const recipe::Field* field = recipe::FieldAt(path);
      std::vector<TemplateValues> tried(1);
      std::set<std::string_view> words;
      for (const std::string_view word : WordsIn(text)) {
        const auto index = spec_.space.Find(word);
        if (!index || !words.insert(word).second) continue;
        std::vector<TemplateValues> further;
        for (const std::string& value : TextsOf(spec_.space.parameters()[*index])) {
          for (const TemplateValues& before : tried) {
            if (further.size() == kMostTried) break;
            further.push_back(before);
            further.back()[std::string(word)] = value;
          }
        }
        tried = std::move(further);
      }
      if (!words.empty() && field != nullptr) TryValues(path, text, *field, tried);
    }
  }

  void TryValues(const std::string& path, const std::string& text, const recipe::Field& field,
                 const std::vector<TemplateValues>& tried) const {
    for (const TemplateValues& values : tried) {
      const std::string value = Expand(text, values);
      const recipe::FieldValue read = recipe::ReadField(field, value);
      if (read.number) continue;
      return NodeAt(path).Report(
          fmt::format("expected {}, found '{}' (from '{}'){}; change the parameter's values",
                      read.expected, Shown(value), Shown(text), DidYouMean(value, field.words)));
    }
  }

  // Refuses parameters without effect, and takes those of the shape.
  void FollowParameters() {
    const auto reaches = recipe::ReachOf(recipe_);
    const std::vector<Parameter>& parameters = spec_.space.parameters();
    std::vector<bool> acts(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i)
      acts[i] = reaches.contains(parameters[i].name);
    // A parameter acts if the condition of one that acts asks for it. Later ones in the order
    // depend on earlier ones.
    for (auto index = spec_.space.order().rbegin(); index != spec_.space.order().rend(); ++index) {
      const Expression* condition = spec_.space.condition(*index);
      if (!acts[*index] || condition == nullptr) continue;
      for (const std::size_t asked : condition->mentions()) acts[asked] = true;
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!acts[i]) {
        RefuseIdle(parameters[i].name);
        continue;
      }
      const auto reach = reaches.find(parameters[i].name);
      if (reach == reaches.end()) continue;
      if (reach->second.is_of_shape) {
        spec_.shape.push_back(parameters[i].name);
        NoteContinuous(parameters[i], reach->second);
      } else if (reach->second.is_of_shape_by_presence && spec_.space.condition(i) != nullptr) {
        spec_.shape_by_presence.push_back(parameters[i].name);
      }
    }
  }

  void RefuseIdle(const std::string& name) const {
    const ConfigNode* space = study_.Find("space");
    const auto section = space != nullptr ? space->Map() : std::nullopt;
    const ConfigNode* node = section ? section->Find(name) : nullptr;
    (node != nullptr ? *node : *space)
        .Report(fmt::format("parameter '{0}' reaches nothing in train: no value of 'train' or "
                            "'model' names it; write '\"{{{0}}}\"' as a value there, as in "
                            "'{1}: \"{{{0}}}\"', or remove the parameter",
                            Shown(name), KeyFor(name)));
  }

  // The key that a parameter of this name most likely is for.
  static std::string KeyFor(const std::string& name) {
    std::vector<std::string> keys = KeysBelow("train");
    const std::string_view nearest = Nearest(name, keys);
    return nearest.empty() ? "lr" : std::string(nearest);
  }

  void NoteContinuous(const Parameter& parameter, const recipe::Reach& reach) {
    if (parameter.Cardinality()) return;
    spec_.notes.push_back(
        fmt::format("{0}: '{1}' is continuous, so hardly any two trials can be trained together; "
                    "give it steps, as in '{1}: {{float: [1, 4], step: 1}}'",
                    reach.paths.front(), parameter.name));
  }

  const ConfigMap& study_;
  const TrainingContext& context_;
  StudySpec& spec_;
  recipe::Recipe recipe_;
  std::map<std::string, ConfigNode, std::less<>> nodes_;  // by path of the recipe
  std::set<std::string> bad_;                             // paths with a mistake that was reported
};

}  // namespace

bool SaysTraining(const ConfigMap& study) { return study.Find("train") != nullptr; }

void ReadTraining(const ConfigMap& study, const TrainingContext& context, StudySpec& spec) {
  TrainingReader(study, context, spec).Read();
}

std::optional<ModelSpec> ReadModel(const ConfigMap& study) {
  const ConfigNode* node = study.Find("model");
  if (node == nullptr) return std::nullopt;
  ModelSpec model;
  std::optional<ConfigMap> section;
  if (node->is_map()) {
    section = node->Map();
    const std::vector<std::string> keys = {"network", "loss", "scale"};
    section->AllowOnly(keys, ForeignKeysOf("model"));
  }
  const ConfigNode* network =
      section ? section->Require("network", kNetwork, "add 'network: net.pt2'") : node;
  if (const auto text = network != nullptr ? network->Text() : std::nullopt) {
    model.network = *text;
    if (text->empty()) network->Expected(kNetwork);
  }
  if (!section) return model;
  if (const ConfigNode* loss = section->Find("loss"))
    model.loss = loss->Text().value_or(model.loss);
  if (const ConfigNode* scale = section->Find("scale"))
    model.scale = scale->Number({.min = 1, .max = kMostScale}).value_or(model.scale);
  return model;
}

}  // namespace sluice
