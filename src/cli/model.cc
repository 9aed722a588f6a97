#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/config.h"
#include "cli/model_report.h"
#include "cli/print.h"
#include "cli/verbs.h"
#include "model/archive.h"
#include "model/graph_json.h"
#include "model/law.h"
#include "model/shrink.h"
#include "model/widths.h"

namespace sluice {
namespace {

// What is not drawn at random and is more than a constant was made for its size.
std::vector<bool> FrozenOf(const model::Graph& graph, const std::vector<model::Law>& laws) {
  std::vector<bool> frozen;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const bool drawn = graph.parameters[i].trainable;
    frozen.push_back(!drawn && laws[i].kind != model::Law::Kind::kConstant);
  }
  return frozen;
}

Result<KnownModel> ReadModel(const std::string& path, std::vector<model::Place> pins) {
  SLUICE_ASSIGN(model::Archive archive, model::Archive::Open(path));
  SLUICE_ASSIGN(std::vector<model::Law> laws, model::MeasureLaws(archive));
  const auto fail = [&](const Error& error) {
    return Fail(error.code, fmt::format("{}: {}", path, error.message));
  };
  auto widths = model::Widths::Find(
      archive.graph(), {.frozen = FrozenOf(archive.graph(), laws), .pins = std::move(pins)});
  if (!widths) return fail(widths.error());
  if (const Status checked = model::CheckShapes(archive.graph()); !checked)
    return fail(checked.error());
  return KnownModel{std::move(archive), std::move(laws), *std::move(widths)};
}

// "NAME:AXIS" or "NAME=NUMBER".
Result<std::pair<std::string, std::int64_t>> ReadPair(std::string_view flag,
                                                      const std::string& text, char between,
                                                      std::string_view example) {
  const std::size_t at = text.rfind(between);
  std::int64_t number = 0;
  if (at != std::string::npos && at > 0) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + at + 1, end, number);
    if (error == std::errc() && rest == end && number >= 0)
      return std::pair(text.substr(0, at), number);
  }
  return InvalidArgument(
      fmt::format("{}: expected something like {}, found '{}'", flag, example, Shown(text)));
}

Result<std::vector<model::Place>> ReadPins(const ModelOptions& options) {
  std::vector<model::Place> pins;
  for (const std::string& pin : options.pins) {
    SLUICE_ASSIGN(auto place, ReadPair("--pin", pin, ':', "layers.0.weight:1"));
    pins.push_back(
        {.parameter = std::move(place.first), .axis = static_cast<std::size_t>(place.second)});
  }
  return pins;
}

Result<model::Shrunken> Shrink(const KnownModel& known, const ModelOptions& options) {
  model::ShrinkOptions how{.scale = options.scale, .min_width = options.min_width, .sizes = {}};
  for (const std::string& width : options.widths) {
    SLUICE_ASSIGN(auto given, ReadPair("--width", width, '=', "w1=64"));
    how.sizes.insert(std::move(given));
  }
  const model::Graph& graph = known.archive.graph();
  auto made = options.parameters ? model::ShrinkTo(graph, known.widths, *options.parameters, how)
                                 : model::Shrink(graph, known.widths, how);
  if (!made)
    return Fail(made.error().code, fmt::format("{}: {}", options.file, made.error().message));
  return made;
}

}  // namespace

Result<int> RunVerb(const Context& context, const ModelOptions& options) {
  SLUICE_ASSIGN(std::vector<model::Place> pins, ReadPins(options));
  SLUICE_ASSIGN(const KnownModel known, ReadModel(options.file, std::move(pins)));
  if (options.action == ModelAction::kShow) {
    if (context.json) {
      PrintLine(GraphJson(known.archive.graph(), known.widths, known.laws));
    } else {
      Print(ModelText(known, context.terminal));
    }
    return kExitOk;
  }
  SLUICE_ASSIGN(const model::Shrunken narrow, Shrink(known, options));
  SLUICE_ASSIGN(
      const model::Parametrisation plan,
      model::Parametrise(
          known.archive.graph(), known.widths, narrow, known.laws,
          {.rule = options.rule, .decay = options.decay, .keep_readout = options.keep_readout}));
  if (context.json) {
    SLUICE_ASSIGN(const std::string json, SurrogateJson(known, narrow, plan));
    PrintLine(json);
  } else {
    Print(SurrogateText(known, narrow, plan, {.explain = options.explain, .rule = options.rule},
                        context.terminal));
  }
  return kExitOk;
}

}  // namespace sluice
