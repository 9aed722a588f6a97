#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/config.h"
#include "base/json_writer.h"
#include "cli/model_report.h"
#include "cli/print.h"
#include "cli/study_file.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "model/archive.h"
#include "model/carries_over.h"
#include "model/graph_json.h"
#include "model/law.h"
#include "model/shrink.h"
#include "model/widths.h"
#include "model/zoo.h"

namespace sluice {
namespace {

// What is not drawn at random and is more than a constant was made for its size; tables of sines can be made for others.
std::vector<model::Frozen> FrozenOf(const model::Graph& graph,
                                    const std::vector<model::Law>& laws) {
  using Kind = model::Law::Kind;
  std::vector<model::Frozen> frozen;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const Kind kind = laws[i].kind;
    const bool sines = kind == Kind::kSinesInTurns || kind == Kind::kSinesFirst;
    const bool free = graph.parameters[i].trainable || kind == Kind::kConstant;
    frozen.push_back(free    ? model::Frozen::kNo
                     : sines ? model::Frozen::kAllButLast
                             : model::Frozen::kAll);
  }
  return frozen;
}

constexpr std::string_view kZoo = "zoo:";

Result<KnownModel> ReadModel(const std::string& path, std::vector<model::Place> pins) {
  model::BuiltModel read;
  if (path.starts_with(kZoo)) {
    SLUICE_ASSIGN(read, model::BuildFromZoo(std::string_view(path).substr(kZoo.size())));
  } else {
    SLUICE_ASSIGN(const model::Archive archive, model::Archive::Open(path));
    SLUICE_ASSIGN(read.laws, model::MeasureLaws(archive));
    read.graph = archive.graph();
  }
  const auto fail = [&](const Error& error) {
    return Fail(error.code, fmt::format("{}: {}", path, error.message));
  };
  auto widths = model::Widths::Find(
      read.graph, {.frozen = FrozenOf(read.graph, read.laws), .pins = std::move(pins)});
  if (!widths) return fail(widths.error());
  if (const Status checked = model::CheckShapes(read.graph); !checked) return fail(checked.error());
  std::vector<std::string> notes = widths->notes();
  return KnownModel{std::move(read.graph), std::move(read.laws), *std::move(widths),
                    std::move(notes)};
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
  const model::Graph& graph = known.graph;
  auto made = options.parameters ? model::ShrinkTo(graph, known.widths, *options.parameters, how)
                                 : model::Shrink(graph, known.widths, how);
  if (!made)
    return Fail(made.error().code, fmt::format("{}: {}", options.file, made.error().message));
  return made;
}

Status AddStudyNotes(const std::string& path, std::vector<std::string>& notes) {
  SLUICE_ASSIGN(const StudyFile file, ReadStudyFile(path));
  for (const Parameter& parameter : file.spec.space.parameters()) {
    const std::string why = model::WhyItDoesNotCarryOver(parameter.name);
    if (!why.empty()) notes.push_back(fmt::format("{}: '{}': {}", path, parameter.name, why));
  }
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

Result<int> RunVerb(const Context& context, const ModelOptions& options) {
  if (options.action == ModelAction::kZoo) {
    ListZoo(context);
    return kExitOk;
  }
  SLUICE_ASSIGN(std::vector<model::Place> pins, ReadPins(options));
  SLUICE_ASSIGN(KnownModel known, ReadModel(options.file, std::move(pins)));
  if (options.action == ModelAction::kShow) {
    if (context.json) {
      PrintLine(GraphJson(known.graph, known.widths, known.laws));
    } else {
      Print(ModelText(known, context.terminal));
    }
    return kExitOk;
  }
  if (options.study) SLUICE_TRY(AddStudyNotes(*options.study, known.notes));
  SLUICE_ASSIGN(const model::Shrunken narrow, Shrink(known, options));
  SLUICE_ASSIGN(
      const model::Parametrisation plan,
      model::Parametrise(
          known.graph, known.widths, narrow, known.laws,
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
