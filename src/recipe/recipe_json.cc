#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "recipe/fields.h"
#include "recipe/recipe.h"

namespace sluice::recipe {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr JsonDocument::Limits kRecipeLimits = {.depth = 8, .members = kMostSettings};
constexpr std::size_t kMostFiles = 10'000;
constexpr std::size_t kMostChannels = 1 << 20;

// Reads one object. Members that are not known are refused: a trainer that is older than the
// recipe must not train with a part of it.
class ObjectReader {
 public:
  ObjectReader(JsonValue object, std::string name, std::string& error)
      : object_(object), name_(std::move(name)), error_(error) {}

  // Only these members may be there.
  void AllowOnly(std::initializer_list<std::string_view> names) {
    const auto members = object_.Members();
    if (!members) return Fail("", "an object");
    for (const auto& [name, value] : *members) {
      if (std::ranges::find(names, name) != names.end()) continue;
      RefuseMember(name);
    }
  }

  void RefuseMember(std::string_view name) {
    Say(
        fmt::format("expected no '{}'{}, found one; use the sluice-trainer of the same version "
                    "as sluice",
                    Shown(name), name_.empty() ? "" : " in " + name_));
  }

  std::optional<JsonValue> Find(std::string_view name) const {
    return object_.kind() == JsonValue::Kind::kObject ? object_.Find(name) : std::nullopt;
  }
  std::int64_t Integer(std::string_view name, std::int64_t low, std::int64_t high) {
    const auto value = Find(name);
    const auto number = value ? value->Integer() : std::nullopt;
    if (number && *number >= low && *number <= high) return *number;
    Fail(name, fmt::format("a whole number from {} to {}", low, high));
    return low;
  }
  std::uint64_t Unsigned(std::string_view name) {
    const auto value = Find(name);
    if (const auto number = value ? value->Unsigned() : std::nullopt) return *number;
    Fail(name, "a whole number of at least 0");
    return 0;
  }
  double Number(std::string_view name) {
    const auto value = Find(name);
    const auto number = value ? value->Number() : std::nullopt;
    if (number && std::isfinite(*number)) return *number;
    Fail(name, "a finite number");
    return 0;
  }
  bool Boolean(std::string_view name) {
    const auto value = Find(name);
    if (const auto boolean = value ? value->Boolean() : std::nullopt) return *boolean;
    Fail(name, "true or false");
    return false;
  }
  std::string Text(std::string_view name) {
    const auto value = Find(name);
    const auto text = value ? value->Text() : std::nullopt;
    if (text && text->size() <= kLongestSetting && !text->contains('\0')) return std::string(*text);
    Fail(name, fmt::format("a text of at most {} bytes", kLongestSetting));
    return "";
  }
  std::vector<JsonValue> List(std::string_view name, std::size_t most) {
    const auto value = Find(name);
    auto list = value ? value->List() : std::nullopt;
    if (list && list->size() <= most) return std::move(*list);
    Fail(name, fmt::format("a list of at most {} items", most));
    return {};
  }
  std::vector<double> Numbers(std::string_view name) {
    std::vector<double> numbers;
    for (const JsonValue& item : List(name, kMostChannels)) {
      const auto number = item.Number();
      if (!number || !std::isfinite(*number)) Fail(name, "a list of finite numbers");
      numbers.push_back(number.value_or(0));
    }
    return numbers;
  }
  std::vector<std::string> Texts(std::string_view name) {
    std::vector<std::string> texts;
    for (const JsonValue& item : List(name, kMostFiles)) {
      const auto text = item.Text();
      const bool good = text && text->size() <= kLongestSetting && !text->contains('\0');
      if (!good) Fail(name, "a list of paths");
      texts.emplace_back(good ? *text : "");
    }
    return texts;
  }
  ObjectReader Object(std::string_view name) {
    const auto value = Find(name);
    if (!value || value->kind() != JsonValue::Kind::kObject) Fail(name, "an object");
    return {value.value_or(object_), Path(name), error_};
  }
  // An item of a list of this object.
  ObjectReader Item(std::string_view name, JsonValue item) { return {item, Path(name), error_}; }

  void Fail(std::string_view name, std::string_view expected) {
    const auto value = Find(name);
    Say(fmt::format("expected {} as {}, found {}", expected, name.empty() ? name_ : Path(name),
                    value ? Shown(value->Written()) : "nothing"));
  }

 private:
  std::string Path(std::string_view name) const {
    return name_.empty() ? std::string(name) : fmt::format("{}.{}", name_, name);
  }
  void Say(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }

  JsonValue object_;
  std::string name_;
  std::string& error_;
};

void AppendText(std::string& json, const std::string& text) {
  AppendJson(json, std::string_view(text));
}
void AppendNumber(std::string& json, double number) { AppendJson(json, number); }

std::string FilesJson(const data::DataFiles& files) {
  return JsonWriter()
      .AddJson("inputs", JsonList(files.inputs, AppendText))
      .AddJson("targets", JsonList(files.targets, AppendText))
      .Take();
}

std::string_view NormaliseName(data::NormaliseBy by) {
  switch (by) {
    case data::NormaliseBy::kNothing: return "nothing";
    case data::NormaliseBy::kMeasure: return "measure";
    case data::NormaliseBy::kGiven: return "given";
  }
  return "";
}

std::string DataJson(const data::DataSpec& spec) {
  JsonWriter json;
  json.Add("kind", data::Name(spec.kind)).Add("path", spec.path);
  json.AddJson("train", FilesJson(spec.train));
  json.AddJson("validation", FilesJson(spec.validation)).AddJson("test", FilesJson(spec.test));
  json.Add("validation_fraction", spec.validation_fraction);
  json.Add("test_fraction", spec.test_fraction).Add("split_seed", spec.split_seed);
  if (spec.classes) json.Add("classes", *spec.classes);
  json.Add("window", spec.window).Add("vocabulary", spec.vocabulary);
  json.Add("token_type", data::Name(spec.token_type));
  json.Add("normalise", NormaliseName(spec.normalise));
  json.AddJson("mean", JsonList(spec.mean, AppendNumber));
  json.AddJson("deviation", JsonList(spec.deviation, AppendNumber));
  json.Add("crop", spec.augmentation.crop_padding).Add("flip", spec.augmentation.flip);
  return json.Take();
}

data::DataFiles ReadFiles(ObjectReader from) {
  from.AllowOnly({"inputs", "targets"});
  return {.inputs = from.Texts("inputs"), .targets = from.Texts("targets")};
}

data::DataSpec ReadData(ObjectReader from) {
  from.AllowOnly({"kind", "path", "train", "validation", "test", "validation_fraction",
                  "test_fraction", "split_seed", "classes", "window", "vocabulary", "token_type",
                  "normalise", "mean", "deviation", "crop", "flip"});
  data::DataSpec spec;
  const auto kind = data::DataKindOf(from.Text("kind"));
  if (!kind) from.Fail("kind", "a kind of data");
  spec.kind = kind.value_or(spec.kind);
  spec.path = from.Text("path");
  spec.train = ReadFiles(from.Object("train"));
  spec.validation = ReadFiles(from.Object("validation"));
  spec.test = ReadFiles(from.Object("test"));
  spec.validation_fraction = from.Number("validation_fraction");
  spec.test_fraction = from.Number("test_fraction");
  spec.split_seed = from.Unsigned("split_seed");
  if (from.Find("classes")) spec.classes = from.Integer("classes", 0, INT64_MAX);
  spec.window = from.Integer("window", 0, INT64_MAX);
  spec.vocabulary = from.Integer("vocabulary", 0, INT64_MAX);
  const std::string token = from.Text("token_type");
  bool known = false;
  for (const data::DType type : {data::DType::kUint8, data::DType::kUint16, data::DType::kUint32,
                                 data::DType::kInt32, data::DType::kInt64}) {
    if (data::Name(type) != token) continue;
    spec.token_type = type;
    known = true;
  }
  if (!known) from.Fail("token_type", "a type of whole numbers");
  const std::string normalise = from.Text("normalise");
  known = false;
  for (const data::NormaliseBy by :
       {data::NormaliseBy::kNothing, data::NormaliseBy::kMeasure, data::NormaliseBy::kGiven}) {
    if (NormaliseName(by) != normalise) continue;
    spec.normalise = by;
    known = true;
  }
  if (!known) from.Fail("normalise", "'nothing', 'measure' or 'given'");
  spec.mean = from.Numbers("mean");
  spec.deviation = from.Numbers("deviation");
  spec.augmentation.crop_padding = from.Integer("crop", 0, INT64_MAX);
  spec.augmentation.flip = from.Boolean("flip");
  return spec;
}

std::string FileJson(const data::FileRecord& file) {
  return JsonWriter().Add("path", file.path).Add("bytes", file.bytes).Add("hash", file.hash).Take();
}

void AppendFile(std::string& json, const data::FileRecord& file) { json += FileJson(file); }

data::FileRecord ReadFile(ObjectReader from) {
  from.AllowOnly({"path", "bytes", "hash"});
  return {
      .path = from.Text("path"), .bytes = from.Unsigned("bytes"), .hash = from.Unsigned("hash")};
}

Recorded ReadRecorded(ObjectReader from) {
  from.AllowOnly({"archives", "files", "data_hash"});
  Recorded recorded;
  for (const JsonValue& file : from.List("archives", kMostFiles))
    recorded.archives.push_back(ReadFile(from.Item("archives", file)));
  for (const JsonValue& file : from.List("files", kMostFiles))
    recorded.files.push_back(ReadFile(from.Item("files", file)));
  recorded.data_hash = from.Unsigned("data_hash");
  return recorded;
}

void ReadSettingsJson(ObjectReader from, const JsonValue& object, Recipe& recipe) {
  const auto members = object.Members();
  if (!members) return;  // Object() has said so
  for (const auto& [path, value] : *members) {
    if (FieldAt(path) == nullptr || path.size() > kLongestSetting) {
      from.RefuseMember(path);
    } else {
      recipe.settings[std::string(path)] = from.Text(path);
    }
  }
}

// Of an object whose reader collects into `error`.
template <typename Read>
auto ReadWhole(std::string_view what, std::string_view json, Read read)
    -> Result<decltype(read(std::declval<ObjectReader>()))> {
  const auto document = JsonDocument::Read(json, kRecipeLimits);
  if (!document) {
    return InvalidArgument(
        fmt::format("{}: expected a JSON object, found '{}'", what, Shown(json)));
  }
  std::string error;
  auto value = read(ObjectReader(document->object(), "", error));
  if (!error.empty()) return InvalidArgument(fmt::format("{}: {}", what, error));
  return value;
}

}  // namespace

std::string ToJson(const Recorded& recorded) {
  JsonWriter json;
  json.AddJson("archives", JsonList(recorded.archives, AppendFile));
  json.AddJson("files", JsonList(recorded.files, AppendFile));
  return json.Add("data_hash", recorded.data_hash).Take();
}

Result<Recorded> RecordedFromJson(std::string_view json) {
  return ReadWhole("recorded files", json, ReadRecorded);
}

std::string ToJson(const Recipe& recipe) {
  JsonWriter settings;
  for (const auto& [path, text] : recipe.settings) settings.Add(path, text);
  JsonWriter json;
  json.Add("version", kVersion).AddJson("settings", settings.Take());
  json.AddJson("data", DataJson(recipe.data)).Add("seed", recipe.seed);
  json.Add("unit", recipe.unit).Add("length", recipe.length);
  if (recipe.recorded) json.AddJson("recorded", ToJson(*recipe.recorded));
  return json.Take();
}

Result<Recipe> RecipeFromJson(std::string_view json) {
  return ReadWhole("recipe", json, [](ObjectReader from) {
    Recipe recipe;
    const std::int64_t version = from.Integer("version", 1, INT64_MAX);
    if (version != kVersion) from.Fail("version", fmt::format("{}", kVersion));
    from.AllowOnly({"version", "settings", "data", "seed", "unit", "length", "recorded"});
    ObjectReader settings = from.Object("settings");
    if (const auto object = from.Find("settings")) ReadSettingsJson(settings, *object, recipe);
    recipe.data = ReadData(from.Object("data"));
    recipe.seed = from.Unsigned("seed");
    recipe.unit = from.Text("unit");
    if (recipe.unit != "epoch" && recipe.unit != "step") from.Fail("unit", "'epoch' or 'step'");
    recipe.length = from.Integer("length", 0, INT64_MAX);
    if (from.Find("recorded")) recipe.recorded = ReadRecorded(from.Object("recorded"));
    return recipe;
  });
}

}  // namespace sluice::recipe
