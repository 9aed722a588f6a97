#include "cli/text/what_mattered.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "cli/text/display_text.h"
#include "cli/text/flat_json.h"
#include "cli/text/print_json.h"
#include "cli/view/progress.h"
#include "engine/study.h"

namespace sluice {
namespace {

constexpr int kMostTrialsRead = 1000;
constexpr double kWorthMention = 0.01;  // a smaller share may be chance
constexpr double kWorthAdvice = 0.05;   // a smaller share is no reason to prefer a range
constexpr std::size_t kMostInLine = 4;

std::optional<double> NumberFrom(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Reads(const Choice& choice, const std::string& text, std::optional<double> number) {
  if (const auto* word = std::get_if<std::string>(&choice)) return *word == text;
  if (const auto* flag = std::get_if<bool>(&choice)) return text == (*flag ? "true" : "false");
  if (const auto* whole = std::get_if<std::int64_t>(&choice))
    return number == static_cast<double>(*whole);
  return number == std::get<double>(choice);
}

// The parameter's value that `text` stands for, as a Point has it; nothing if there is none.
std::optional<double> ValueFrom(const Parameter& parameter, const std::string& text) {
  const std::optional<double> number = NumberFrom(text);
  if (!parameter.has_choices()) return number;
  for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
    if (Reads(parameter.choices[i], text, number)) return static_cast<double>(i);
  }
  return std::nullopt;
}

// The point of a JSON object of parameters, with NaN for parameters that the object lacks; nothing
// if the point is not in the space. Thousands of trials are read, and Space::Decode is too slow for
// that.
std::optional<Point> PointFrom(const Space& space, const std::string& params) {
  Point point(space.size(), std::numeric_limits<double>::quiet_NaN());
  bool good = true;
  std::size_t next = 0;
  EachMember(params, [&](const std::string& name, const std::string& text) {
    // Members usually have the order of the space, so the search begins at the previous member.
    while (next < space.size() && space.parameters()[next].name != name) ++next;
    if (next == space.size()) next = space.Find(name).value_or(space.size());
    const std::optional<double> value =
        next < space.size() ? ValueFrom(space.parameters()[next], text) : std::nullopt;
    if (value) point[next] = *value;
    good = good && value;
  });
  if (!good) return std::nullopt;
  if (space.Contains(point)) return point;
  Point active = point;  // an imported trial may lack values of active parameters: try the middle
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (std::isnan(active[i])) active[i] = space.FromUnit(i, 0.5);
  }
  return space.Contains(active) ? std::optional(point) : std::nullopt;
}

// The indices of the parameters worth a mention, the most important first.
std::vector<std::size_t> Ranked(const WhatMattered& mattered) {
  const auto share = [&](std::size_t i) { return mattered.importance.parameters[i].share; };
  std::vector<std::size_t> order(mattered.importance.parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), share);
  std::erase_if(order, [&](std::size_t i) { return share(i) < kWorthMention; });
  return order;
}

std::string PercentText(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string FormatBound(const Parameter& parameter, double value) {
  if (parameter.has_choices())
    return FormatValue(parameter.choices[static_cast<std::size_t>(value)]);
  if (parameter.kind == ParameterKind::kInt) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

// Which values are best, as in "best 0.00102 .. 0.0041, lower is better"; "" if the share is small.
std::string AdviceOn(const Parameter& parameter, const ParameterImportance& of) {
  if (of.share < kWorthAdvice || std::isnan(of.best_low)) return "";
  std::string text = "best " + FormatBound(parameter, of.best_low);
  if (of.best_low != of.best_high) text += " .. " + FormatBound(parameter, of.best_high);
  if (of.trend == Trend::kHigherIsBetter) text += ", higher is better";
  if (of.trend == Trend::kLowerIsBetter) text += ", lower is better";
  return text;
}

}  // namespace

WhatMattered LookWhatMattered(Reader& reader, const StudyInfo& study) {
  WhatMattered mattered;
  const auto finished = static_cast<std::size_t>(study.count(TrialState::kComplete)) +
                        static_cast<std::size_t>(study.count(TrialState::kStopped));
  if (finished < kLeastTrialsForImportance) {
    mattered.importance.reason = "too few finished trials";
    return mattered;
  }
  const auto source = reader.Source(study.id);
  auto spec = source ? ReadStudy(*source, study.name, study.name) : std::unexpected(source.error());
  const auto results = reader.Results(study, kMostTrialsRead);
  if (!spec || !results) {
    mattered.importance.reason = (spec ? results.error() : spec.error()).message;
    return mattered;
  }
  mattered.space = std::move(spec->space);
  std::vector<Point> points;
  std::vector<double> losses;
  for (const ResultInfo& result : *results) {
    std::optional<Point> point = PointFrom(mattered.space, result.params);
    if (!point) continue;
    points.push_back(std::move(*point));
    losses.push_back(study.maximize ? -result.result : result.result);
  }
  mattered.importance = ComputeImportance(mattered.space, points, losses);
  return mattered;
}

std::string DescribeMattered(const WhatMattered& mattered) {
  if (!mattered.known()) return "";
  std::string text;
  std::size_t shown = 0;
  for (const std::size_t i : Ranked(mattered)) {
    if (shown++ == kMostInLine) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += Harmless(mattered.space.parameters()[i].name) + " " +
            PercentText(mattered.importance.parameters[i].share);
  }
  return text;
}

std::string MatteredLines(const WhatMattered& mattered, const Terminal& terminal,
                          const std::string& indent) {
  if (!mattered.known()) return "";
  constexpr std::size_t kBar = 20;
  const std::vector<std::size_t> ranked = Ranked(mattered);
  int width = 0;
  for (const std::size_t i : ranked)
    width = std::max(width, DisplayWidth(Harmless(mattered.space.parameters()[i].name)));
  std::string lines;
  for (const std::size_t i : ranked) {
    const Parameter& parameter = mattered.space.parameters()[i];
    const ParameterImportance& of = mattered.importance.parameters[i];
    const auto filled =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::round(kBar * of.share)));
    std::string line =
        fmt::format("{}{}  {:>5}  {}", indent, Padded(Harmless(parameter.name), width),
                    PercentText(of.share), Inked(std::string(filled, '#'), Ink::kBlue, terminal));
    const std::string advice = Harmless(AdviceOn(parameter, of));
    if (!advice.empty()) line += std::string(kBar - std::min(kBar, filled) + 2, ' ') + advice;
    lines += line + "\n";
  }
  const std::size_t others = mattered.space.size() - ranked.size();
  if (others > 0)
    lines += fmt::format("{}({} under {})\n", indent, others, PercentText(kWorthMention));
  return lines;
}

std::string MatteredJson(const WhatMattered& mattered) {
  if (!mattered.known()) return "null";
  JsonWriter object;
  for (std::size_t i = 0; i < mattered.space.size(); ++i) {
    const double share = mattered.importance.parameters[i].share;
    object.Add(mattered.space.parameters()[i].name, std::round(share * 1e4) / 1e4);
  }
  return object.Take();
}

}  // namespace sluice
