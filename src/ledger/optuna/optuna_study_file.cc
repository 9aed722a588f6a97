#include "ledger/optuna/optuna_study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/read/templates.h"
#include "ledger/optuna/optuna_codec.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestName = 100;
constexpr std::string_view kUnit = "step";

// Returns the wanted name, changed so that a study file allows it and that no name in `taken` is
// equal. Adds the result to `taken`.
std::string FreeName(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted.substr(0, kLongestName);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  if (std::isalpha(static_cast<unsigned char>(name.front())) == 0) name.front() = '_';
  const std::string stem = name.substr(0, kLongestName - 8);
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

std::string Quoted(std::string_view text) { return EncodeValue(std::string(text)); }

std::string Line(const std::string& name, const Parameter& parameter) {
  if (parameter.has_choices()) {
    std::string choices;
    for (const Choice& choice : parameter.choices)
      choices += (choices.empty() ? "" : ", ") + EncodeValue(choice);
    return fmt::format("  {}: {{choice: [{}]}}\n", Quoted(name), choices);
  }
  const bool is_int = parameter.kind == ParameterKind::kInt;
  const auto number = [&](double value) {
    return is_int ? fmt::format("{:.0f}", value) : EncodeValue(value);
  };
  std::string line = fmt::format("  {}: {{{}: [{}, {}]", Quoted(name), is_int ? "int" : "float",
                                 number(parameter.low), number(parameter.high));
  if (parameter.law == Law::kLog) line += ", log: true";
  if (parameter.step != 0) line += fmt::format(", step: {}", number(parameter.step));
  return line + "}\n";
}

bool SameParameter(const Parameter& a, const Parameter& b) {
  return a.kind == b.kind && a.low == b.low && a.high == b.high && a.law == b.law &&
         a.step == b.step && a.choices == b.choices;
}

std::string MetricOf(const OptunaStudy& study) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  const std::string& metric = study.metric;
  const bool good = !metric.empty() && metric.size() <= kLongestName && metric != kUnit &&
                    std::ranges::none_of(metric, control);
  return good ? metric : "value";
}

}  // namespace

Status CheckHasProgram(const StudySpec& spec) {
  if (spec.program.size() != 1 || spec.program.front() != kImportedProgram) return {};
  return FailedPrecondition(
      fmt::format("study '{}' was imported from Optuna and has no program to run: write a study "
                  "file with a program, and let it begin from these trials with 'warm_start'",
                  spec.name));
}

Result<OptunaStudyFile> MakeStudyFile(const OptunaStudy& study, const std::string& name) {
  if (study.parameters.empty()) {
    return InvalidArgument(
        fmt::format("study '{}': expected a trial with parameters, found none among its {} trials",
                    study.name, study.trials.size()));
  }
  OptunaStudyFile file;
  std::set<std::string> taken(TemplateWords().begin(), TemplateWords().end());
  file.text = fmt::format(
      "# Imported from Optuna: there is no program to run.\nstudy: {}\nprogram: [{}]\n"
      "objective: {{{}: {}}}\ntrials: {}\nretries: 0\nbudget: {{unit: {}}}\nspace:\n",
      Quoted(name), kImportedProgram,
      study.direction == Direction::kMaximize ? "maximize" : "minimize", Quoted(MetricOf(study)),
      study.trials.size(), kUnit);
  for (const Parameter& parameter : study.parameters) {
    file.names.push_back(FreeName(parameter.name, taken));
    file.text += Line(file.names.back(), parameter);
  }
  auto spec = ReadStudy(file.text, name, name);
  if (!spec) {
    return InvalidArgument(fmt::format("study '{}' does not fit into a study file:\n{}", study.name,
                                       spec.error().message));
  }
  file.spec = std::move(*spec);
  for (std::size_t i = 0; i < study.parameters.size(); ++i) {
    if (SameParameter(file.spec.space.parameters()[i], study.parameters[i])) continue;
    return InvalidArgument(
        fmt::format("study '{}': {}: expected a range or choices that a study file can say",
                    study.name, study.parameters[i].name));
  }
  return file;
}

}  // namespace sluice
