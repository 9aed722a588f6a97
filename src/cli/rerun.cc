#include "cli/rerun.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text/print.h"
#include "engine/read/arguments_codec.h"
#include "engine/read/templates.h"
#include "engine/study.h"

namespace sluice {
namespace {

// Stands before and after the name of an environment variable in an item of the command line.
// QuotedWithVariables replaces it.
constexpr char kMark = '\x01';

// Quotes an item for a shell, in such a way that the shell expands the marked variables.
std::string QuotedWithVariables(const std::string& item) {
  if (!item.contains(kMark)) return ShellQuoted(item);
  std::string out = "\"";
  bool inside = false;  // between the marks of a name
  for (const char c : item) {
    if (c == kMark) {
      out += inside ? "}" : "${";
      inside = !inside;
      continue;
    }
    if (std::string_view("\"\\$`").contains(c)) out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::optional<std::string> RerunCommand(Reader& reader, const StudyInfo& study,
                                        const TrialInfo& trial) {
  const auto source = reader.Source(study.id);
  if (!source) return std::nullopt;
  const auto spec = ReadStudy(*source, study.name, study.name);
  if (!spec || spec->training) return std::nullopt;
  const auto point = spec->space.Decode(trial.params);
  if (!point) return std::nullopt;

  TemplateValues values;
  for (const std::string& word : TemplateWords()) values[word] = "{" + word + "}";
  values["study"] = study.name;
  values["trial"] = std::to_string(Number(trial.id));
  values["launch"] = std::to_string(Number(trial.launch));
  values["budget"] = std::to_string(trial.work);
  for (const std::string& item : spec->program) {
    for (const std::string& name : EnvironmentWords(item))
      values["envvar:" + name] = kMark + name + kMark;
  }
  Arguments arguments = ArgumentsOf(*spec, *point);
  values["args_json"] = arguments.values["args_json"];
  const auto named = [&](const std::string& word) {
    return std::ranges::any_of(spec->program,
                               [&](const std::string& item) { return HasWord(item, word); });
  };
  const bool all = std::ranges::any_of(
      spec->program, [](const std::string& item) { return item.starts_with("{args"); });
  const bool each = std::ranges::all_of(arguments.values, [&](const auto& value) {
    return value.first == "args_json" || named(value.first);
  });
  if (!all && !each && !named("args_json")) return std::nullopt;
  std::string line;
  values.merge(arguments.values);
  for (const std::string& item : ExpandProgram(spec->program, values, arguments.lists)) {
    if (!line.empty()) line += ' ';
    line += QuotedWithVariables(item);
  }
  return line;
}

}  // namespace sluice
