#include "cli/rerun.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print.h"
#include "engine/study.h"
#include "engine/templates.h"

namespace sluice {

std::optional<std::string> RerunCommand(Reader& reader, const StudyInfo& study,
                                        const TrialInfo& trial) {
  const auto source = reader.Source(study.id);
  if (!source) return std::nullopt;
  const auto spec = ReadStudy(*source, study.name, study.name);
  if (!spec) return std::nullopt;
  const auto point = spec->space.Decode(trial.params);
  if (!point) return std::nullopt;

  TemplateValues values;
  for (const std::string& word : TemplateWords()) values[word] = "{" + word + "}";
  values["study"] = study.name;
  values["trial"] = std::to_string(Number(trial.id));
  values["launch"] = std::to_string(Number(trial.launch));
  values["budget"] = std::to_string(trial.work);
  std::vector<std::string> args;
  bool passed = std::ranges::find(spec->program, "{args}") != spec->program.end();
  for (std::size_t i = 0; i < spec->space.size(); ++i) {
    const std::string& name = spec->space.parameters()[i].name;
    if (spec->space.IsActive(*point, i)) {
      values[name] = FormatValue(spec->space.ValueAt(*point, i));
      args.push_back(fmt::format("--{}={}", name, values[name]));
    }
    const auto names_it = [&](const std::string& item) {
      return item.find("{" + name + "}") != std::string::npos;
    };
    passed = passed || std::ranges::any_of(spec->program, names_it);
  }
  if (!passed) return std::nullopt;
  std::string line;
  for (const std::string& item : ExpandProgram(spec->program, values, args)) {
    if (!line.empty()) line += ' ';
    line += ShellQuoted(item);
  }
  return line;
}

}  // namespace sluice
