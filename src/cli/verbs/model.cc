#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/study_file.h"
#include "cli/study_model.h"
#include "cli/text/model_report.h"
#include "cli/text/print.h"
#include "cli/text/table.h"
#include "cli/verbs/verbs.h"
#include "model/graph_json.h"
#include "model/network.h"
#include "model/shrink/shrink.h"
#include "model/zoo/zoo.h"

namespace sluice {
namespace {

constexpr double kUsualScale = 8;

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

Result<model::Shrunken> Shrink(const model::Network& network, const ModelOptions& options) {
  model::ShrinkOptions how{
      .scale = options.scale.value_or(kUsualScale), .min_width = options.min_width, .sizes = {}};
  for (const std::string& width : options.widths) {
    SLUICE_ASSIGN(auto given, ReadPair("--width", width, '=', "w1=64"));
    how.sizes.insert(std::move(given));
  }
  const model::Graph& graph = network.graph;
  auto made = options.parameters ? model::ShrinkTo(graph, network.widths, *options.parameters, how)
                                 : model::Shrink(graph, network.widths, how);
  if (!made)
    return Fail(made.error().code, fmt::format("{}: {}", options.file, made.error().message));
  return made;
}

// The network and the scale are those of the study where the command line gives none.
Status TakeFromStudy(ModelOptions& options, std::vector<std::string>& notes) {
  SLUICE_ASSIGN(const StudyFile study, ReadStudyFile(*options.study));
  for (const std::string& note : WhatDoesNotCarryOver(study.spec.space))
    notes.push_back(fmt::format("{}: {}", *options.study, note));
  const auto& model = study.spec.model;
  if (!options.file.empty()) return {};
  if (!model) {
    return InvalidArgument(fmt::format(
        "model shrink: expected a network, and {} names none; give one, as in 'sluice model shrink "
        "net.pt2', or add 'model: net.pt2' to the file",
        *options.study));
  }
  options.file = NetworkOf(*model, study.folder);
  if (!options.scale && model->scale > 1) options.scale = model->scale;
  return {};
}

void ListZoo(const Context& context) {
  if (context.json) {
    PrintLine(JsonList(model::Zoo(), [](std::string& json, const model::ZooEntry& entry) {
      JsonWriter each;
      each.Add("name", entry.name).Add("options", entry.options).Add("about", entry.about);
      json += each.Take();
    }));
    return;
  }
  Table table({{"network"}, {"is"}, {"options, as they are by default"}});
  for (const model::ZooEntry& entry : model::Zoo())
    table.Add({{"zoo:" + entry.name}, {entry.about}, {entry.options}});
  Print(table.Render(context.terminal));
}

}  // namespace

Result<int> RunVerb(const Context& context, const ModelOptions& given) {
  if (given.action == ModelAction::kZoo) {
    ListZoo(context);
    return kExitOk;
  }
  ModelOptions options = given;
  std::vector<std::string> notes;
  if (options.study) SLUICE_TRY(TakeFromStudy(options, notes));
  SLUICE_ASSIGN(std::vector<model::Place> pins, ReadPins(options));
  SLUICE_ASSIGN(const model::Network network, model::OpenNetwork(options.file, std::move(pins)));
  if (options.action == ModelAction::kShow) {
    if (context.json) {
      PrintLine(GraphJson(network.graph, network.widths, network.laws));
    } else {
      Print(NetworkText(network, context.terminal));
    }
    return kExitOk;
  }
  notes.insert(notes.begin(), network.widths.notes().begin(), network.widths.notes().end());
  SLUICE_ASSIGN(model::Shrunken narrow, Shrink(network, options));
  SLUICE_ASSIGN(
      model::Parametrisation plan,
      model::Parametrise(
          network.graph, network.widths, narrow, network.laws,
          {.rule = options.rule, .decay = options.decay, .keep_readout = options.keep_readout}));
  const Surrogate surrogate{.original = network,
                            .narrow = std::move(narrow),
                            .plan = std::move(plan),
                            .rule = options.rule,
                            .notes = std::move(notes)};
  if (context.json) {
    SLUICE_ASSIGN(const std::string json, SurrogateJson(surrogate));
    PrintLine(json);
  } else {
    Print(SurrogateText(surrogate, options.explain, context.terminal));
  }
  return kExitOk;
}

}  // namespace sluice
