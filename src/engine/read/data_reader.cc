#include "engine/read/data_reader.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/read/foreign_keys.h"
#include "recipe/fields.h"

namespace sluice {
namespace {

constexpr std::int64_t kNoMost = std::numeric_limits<std::int64_t>::max();

class DataReader {
 public:
  explicit DataReader(ConfigMap map) : map_(std::move(map)) {}

  data::DataSpec Read() {
    const std::vector<std::string> keys = {
        "kind",    "path",       "train",      "validation", "test", "validation_fraction",
        "classes", "window",     "vocabulary", "token_type", "crop", "test_fraction",
        "flip",    "split_seed", "normalise"};
    map_.AllowOnly(keys, ForeignKeysOf("data"));
    ReadKind();
    if (const ConfigNode* node = map_.Find("path")) {
      if (const auto path = PathOf(*node)) spec_.path = *path;
    }
    ReadPart("train", spec_.train);
    ReadPart("validation", spec_.validation);
    ReadPart("test", spec_.test);
    ReadFraction("validation_fraction", spec_.validation_fraction);
    ReadFraction("test_fraction", spec_.test_fraction);
    ReadNumbers();
    ReadTokenType();
    ReadNormalise();
    if (map_.Find("train") == nullptr)
      map_.Require("path", "the folder or the file of the data", "add 'path: FOLDER'");
    return std::move(spec_);
  }

 private:
  static std::optional<std::string> PathOf(const ConfigNode& node) {
    auto text = node.Text();
    if (text && (text->empty() || text->size() > recipe::kLongestSetting)) {
      node.Expected(fmt::format("a path of at most {} bytes", recipe::kLongestSetting));
      return std::nullopt;
    }
    return text;
  }

  void ReadKind() {
    const ConfigNode* node = map_.Find("kind");
    if (node == nullptr) return;
    std::vector<std::string> names;
    for (const data::DataKind kind :
         {data::DataKind::kIdx, data::DataKind::kCifar10, data::DataKind::kNpy,
          data::DataKind::kTokens, data::DataKind::kText})
      names.emplace_back(data::Name(kind));
    const std::vector<std::pair<std::string, std::string>> foreign = {
        {"mnist", "idx"},        {"fashion", "idx"}, {"fashion_mnist", "idx"}, {"cifar", "cifar10"},
        {"cifar-10", "cifar10"}, {"numpy", "npy"},   {"txt", "text"},          {"bytes", "text"}};
    if (const auto name = node->OneOf(names, foreign)) spec_.kind = *data::DataKindOf(*name);
  }

  // A path, or a list of them.
  static void ReadFiles(const ConfigNode& node, std::vector<std::string>& files) {
    if (!node.is_list()) {
      if (const auto path = PathOf(node)) files.push_back(*path);
      return;
    }
    const std::vector<ConfigNode> items = *node.List();
    for (const ConfigNode& item : items)
      if (const auto path = PathOf(item)) files.push_back(*path);
    if (files.empty()) node.Expected("at least one file");
  }

  void ReadPart(std::string_view key, data::DataFiles& files) {
    const ConfigNode* node = map_.Find(key);
    if (node == nullptr) return;
    if (node->is_scalar() && node->Show().find_first_not_of("0123456789.") == std::string::npos) {
      return node->Expected(
          "the files of this part, as in {inputs: FILE, targets: FILE}",
          key == "train" ? "" : fmt::format("write '{}_fraction: {}'", key, node->Show()));
    }
    if (!node->is_map()) return ReadFiles(*node, files.inputs);
    const ConfigMap part = *node->Map();
    const std::vector<std::string> keys = {"inputs", "targets"};
    part.AllowOnly(keys, ForeignKeysOf("data.files"));
    if (const ConfigNode* inputs =
            part.Require("inputs", "the files of inputs", "add 'inputs: images.npy'"))
      ReadFiles(*inputs, files.inputs);
    if (const ConfigNode* targets = part.Find("targets")) ReadFiles(*targets, files.targets);
  }

  void ReadFraction(std::string_view key, double& fraction) {
    const ConfigNode* node = map_.Find(key);
    const auto number = node != nullptr ? node->Number({.min = 0, .max = 1}) : std::nullopt;
    if (number && *number == 1) node->Expected("a fraction below 1", "write 0.1 for a tenth");
    fraction = number.value_or(fraction);
  }

  void ReadNumbers() {
    const auto read = [&](std::string_view key, std::int64_t least) -> std::optional<std::int64_t> {
      const ConfigNode* node = map_.Find(key);
      return node != nullptr ? node->Integer({.min = least, .max = kNoMost}) : std::nullopt;
    };
    spec_.classes = read("classes", 1);
    spec_.window = read("window", 1).value_or(0);
    spec_.vocabulary = read("vocabulary", 1).value_or(0);
    spec_.split_seed = static_cast<std::uint64_t>(read("split_seed", 0).value_or(0));
    spec_.augmentation.crop_padding = read("crop", 0).value_or(0);
    if (const ConfigNode* flip = map_.Find("flip"))
      spec_.augmentation.flip = flip->Boolean().value_or(false);
  }

  void ReadTokenType() {
    const ConfigNode* node = map_.Find("token_type");
    if (node == nullptr) return;
    constexpr std::array kTypes = {data::DType::kUint8, data::DType::kUint16, data::DType::kUint32,
                                   data::DType::kInt32, data::DType::kInt64};
    std::vector<std::string> names;
    for (const data::DType type : kTypes) names.emplace_back(data::Name(type));
    const auto name = node->OneOf(names);
    for (std::size_t i = 0; name && i < names.size(); ++i)
      if (names[i] == *name) spec_.token_type = kTypes[i];
  }

  // One number, or one for each channel.
  static std::vector<double> NumbersOf(const ConfigNode& node) {
    std::vector<double> numbers;
    const std::vector<ConfigNode> items =
        node.is_list() ? *node.List() : std::vector<ConfigNode>{node};
    for (const ConfigNode& item : items)
      if (const auto number = item.Number()) numbers.push_back(*number);
    if (items.empty()) node.Expected("a number, or one for each channel");
    return numbers;
  }

  void ReadNormalise() {
    const ConfigNode* node = map_.Find("normalise");
    if (node == nullptr) return;
    if (!node->is_map()) {
      const std::vector<std::string> names = {"nothing", "measure"};
      const std::vector<std::pair<std::string, std::string>> foreign = {
          {"none", "nothing"}, {"false", "nothing"}, {"true", "measure"}, {"standard", "measure"}};
      if (const auto name = node->OneOf(names, foreign)) {
        spec_.normalise =
            *name == "measure" ? data::NormaliseBy::kMeasure : data::NormaliseBy::kNothing;
      }
      return;
    }
    spec_.normalise = data::NormaliseBy::kGiven;
    const ConfigMap map = *node->Map();
    const std::vector<std::string> keys = {"mean", "deviation"};
    map.AllowOnly(keys, ForeignKeysOf("data.normalise"));
    if (const ConfigNode* mean = map.Require("mean", "the mean", "add 'mean: 0.5'"))
      spec_.mean = NumbersOf(*mean);
    if (const ConfigNode* deviation =
            map.Require("deviation", "the standard deviation", "add 'deviation: 0.25'"))
      spec_.deviation = NumbersOf(*deviation);
  }

  const ConfigMap map_;
  data::DataSpec spec_;
};

}  // namespace

data::DataSpec ReadDataSpec(const ConfigNode& node) {
  if (node.is_scalar()) {
    data::DataSpec spec;
    spec.path = node.Text().value_or("");
    if (spec.path.empty()) node.Expected("a folder or a file of data");
    return spec;
  }
  auto map = node.Map("write 'data: FOLDER'");
  return map ? DataReader(std::move(*map)).Read() : data::DataSpec{};
}

}  // namespace sluice
