#include "cli/text/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "cli/text/print_json.h"
#include "cli/view/progress.h"

namespace sluice {
namespace {

// Whether YAML reads `text` as this same text if it is written without quotes.
bool IsPlainYaml(const std::string& text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, fits) &&
         text != "true" && text != "false" && text != "null";
}

std::string YamlValue(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return IsPlainYaml(*text) ? *text : JsonText(*text);
  return FormatValue(value);
}

}  // namespace

std::string FullNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

std::string DescribeBestValue(const StudyInfo& study, const TrialInfo& trial) {
  return fmt::format("{} at {} {}", FullNumber(trial.result), study.unit, trial.result_work);
}

std::string DescribeCounts(const StudyInfo& study, const Terminal& terminal) {
  std::string text;
  for (std::size_t i = 0; i < kTrialStates; ++i) {
    if (study.counts[i] == 0) continue;
    if (!text.empty()) text += ", ";
    text += Inked(fmt::format("{} {}", study.counts[i], kTrialStateNames[i]),
                  InkOf(static_cast<TrialState>(i)), terminal);
  }
  return text.empty() ? "none yet" : text;
}

std::string ParamLines(const TrialInfo& trial, const std::string& indent) {
  std::string lines;
  for (const auto& [name, value] : ParamsFromJson(trial.params)) {
    lines += fmt::format("{}{}: {}\n", indent, Harmless(name), Harmless(YamlValue(value)));
  }
  return lines;
}

std::string Labelled(const std::vector<std::pair<std::string, std::string>>& lines,
                     const Terminal& terminal) {
  std::size_t width = 0;
  for (const auto& [label, value] : lines) {
    if (!value.empty()) width = std::max(width, label.size());
  }
  std::string out;
  for (const auto& [label, value] : lines) {
    if (value.empty()) continue;
    out += Inked(label, Ink::kDim, terminal) + std::string(width - label.size() + 2, ' ') + value +
           "\n";
  }
  return out;
}

}  // namespace sluice
