#include "recipe/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_reader.h"
#include "base/templates/template_text.h"
#include "base/text.h"
#include "recipe/fields.h"
#include "recipe/settings_reader.h"

namespace sluice::recipe {
namespace {

constexpr JsonDocument::Limits kParameterLimits = {.depth = 4, .members = 10'000};

// A parameter as a template writes it; nothing if it is a list or an object.
std::optional<std::string> TextOf(const JsonValue& value) {
  if (const auto text = value.Text()) return std::string(*text);
  if (value.Boolean()) return std::string(*value.Boolean() ? "true" : "false");
  if (value.kind() == JsonValue::Kind::kReal) return fmt::format("{}", *value.Number());
  if (value.IsNumber()) return value.Written();
  return std::nullopt;
}

Result<TemplateValues> ReadParameters(std::string_view json) {
  const auto document = JsonDocument::Read(json, kParameterLimits);
  if (!document) {
    return InvalidArgument(
        fmt::format("parameters: expected a JSON object, found '{}'", Shown(json)));
  }
  TemplateValues values;
  const auto members = document->object().Members();
  for (const auto& [name, value] : *members) {
    auto text = TextOf(value);
    if (!text) {
      return InvalidArgument(
          fmt::format("parameters: expected texts, numbers and booleans, found {} for '{}'",
                      Shown(value.Written()), Shown(name)));
    }
    values[std::string(name)] = std::move(*text);
  }
  return values;
}

std::string Described(const data::FileRecord& file) {
  return fmt::format("{} bytes with the hash {:016x}", file.bytes, file.hash);
}

bool IsSame(const data::FileRecord& one, const data::FileRecord& other) {
  return one.bytes == other.bytes && one.hash == other.hash;
}

std::unexpected<Error> OtherFile(const data::FileRecord& recorded, const data::FileRecord& found) {
  return FailedPrecondition(
      fmt::format("{}: expected the file that the study was made with, {}, found {}; put the file "
                  "back, or make a new study",
                  found.path, Described(recorded), Described(found)));
}

}  // namespace

Status CheckSameArchive(const Recorded& recorded, const data::FileRecord& found) {
  const data::FileRecord* known = nullptr;  // the one of this path, else the last
  for (const data::FileRecord& archive : recorded.archives) {
    if (IsSame(archive, found)) return {};
    if (known == nullptr || known->path != found.path) known = &archive;
  }
  if (known != nullptr) return OtherFile(*known, found);
  return FailedPrecondition(fmt::format(
      "{}: expected a network of the zoo, as when the study was made, found an archive; "
      "make a new study",
      found.path));
}

Status CheckSameData(const Recorded& recorded, const std::vector<data::FileRecord>& files,
                     std::uint64_t hash) {
  for (std::size_t i = 0; i < std::min(files.size(), recorded.files.size()); ++i)
    if (!IsSame(recorded.files[i], files[i])) return OtherFile(recorded.files[i], files[i]);
  if (recorded.files.size() != files.size()) {
    const bool more = files.size() > recorded.files.size();
    return FailedPrecondition(fmt::format(
        "{}: expected the {} files of data that the study was made with, found {}; {}, or make a "
        "new study",
        (more ? files : recorded.files)[std::min(files.size(), recorded.files.size())].path,
        recorded.files.size(), files.size(), more ? "remove the file" : "put the file back"));
  }
  if (recorded.data_hash == hash) return {};
  return FailedPrecondition(
      "data: expected the files to be used as when the study was made (the split, the classes, "
      "the window, the normalisation), found another use of the same files; make a new study");
}

std::vector<Mistake> CheckRecipe(const Recipe& recipe) {
  SettingsReader reader(recipe, nullptr);
  ReadSettings(recipe, reader);
  return reader.TakeMistakes();
}

Result<TrialRecipe> Resolve(const Recipe& recipe, std::string_view params_json) {
  SLUICE_ASSIGN(const TemplateValues parameters, ReadParameters(params_json));
  SettingsReader reader(recipe, &parameters);
  TrialRecipe trial = ReadSettings(recipe, reader);
  const std::vector<Mistake> mistakes = reader.TakeMistakes();
  if (mistakes.empty()) return trial;
  return InvalidArgument(fmt::format("{}: {}", mistakes.front().path, mistakes.front().message));
}

std::map<std::string, Reach, std::less<>> ReachOf(const Recipe& recipe) {
  std::map<std::string, Reach, std::less<>> reaches;
  for (const auto& [path, text] : recipe.settings) {
    const Field* field = FieldAt(path);
    if (field == nullptr) continue;
    for (const std::string_view word : WordsIn(text)) {
      Reach& reach = reaches[std::string(word)];
      if (reach.paths.empty() || reach.paths.back() != path) reach.paths.push_back(path);
      if (field->of_shape == OfShape::kValue) reach.is_of_shape = true;
      if (field->of_shape == OfShape::kPresence) reach.is_of_shape_by_presence = true;
    }
  }
  return reaches;
}

}  // namespace sluice::recipe
