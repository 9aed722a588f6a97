#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/inspect/study_model.h"
#include "cli/study_file.h"
#include "cli/text/model_report.h"
#include "cli/text/print.h"
#include "cli/text/table.h"
#include "cli/verbs/verb.h"
#include "model/evaluate/evaluation.h"
#include "model/graph_json.h"
#include "model/network.h"
#include "model/shrink/shrink.h"
#include "model/zoo/zoo.h"

namespace sluice {
namespace {

constexpr std::string_view kModelHelp =
    R"(usage: sluice model show FILE.pt2 [--evaluation] [--json]
       sluice model shrink FILE.pt2 [--scale S] [--explain] [--json] ...
       sluice model zoo [--json]

Looks at a network that sluice.export or torch.export.save has written to a file. Nothing in the
file is executed, and only samples of the weights are read. A network that is built in can be given
instead of a file, as zoo:NAME or zoo:NAME,OPTION=VALUE,...; 'zoo' lists the built-in networks.

'show' prints the network's inputs, its widths (sizes that can be chosen), its parameters with how
they were drawn, and its operators.

  --evaluation      the operators of evaluation: nothing is dropped, and norms use their running
                    statistics

'shrink' makes a surrogate: the same network with every width divided by S. For each parameter it
says how the parameter is drawn, and by which factors its learning rate, weight decay and eps
differ. With these factors, hyperparameters that are good for the surrogate are good for the network
itself.

  --scale S         divide widths by S; by default 8
  --parameters N    choose the scale so that about N parameters are left
  --min-width N     make no width smaller than N; by default 8
  --width W=N       give the width W, as 'show' names it, the size N; may be repeated
  --pin NAME:AXIS   keep the size of this dimension of a parameter; may be repeated
  --rule R          mup (the default), spectral, or standard, which changes only initial spreads
  --decay D         weight decay: scaled (the default: its product with the learning rate stays the
                    same), or same (it is not changed)
  --readout R       zero (the default: output layers begin at 0, here and in the original), or keep
  --study FILE      say which parameters of this study do not carry over. Without FILE.pt2, the
                    network is the study's, and the scale too unless --scale is given
  --explain         print a row for each parameter
  --store FILE      has no effect here
  --json            as JSON, with the whole graph
  -h, --help        print this

examples:
  sluice model show net.pt2
  sluice model shrink net.pt2 --scale 8 --explain
  sluice model shrink net.pt2 --parameters 1000000
  sluice model shrink net.pt2 --pin head.weight:1 --json | jq .widths
)";

struct ModelOptions {
  std::string action;  // show, shrink or zoo
  std::string file;    // an archive of torch.export, or zoo:NAME; empty: the study's network
  std::vector<std::string> pins;  // "NAME:AXIS": a dimension that keeps its size
  std::optional<double> scale;
  std::int64_t min_width = 8;
  std::optional<std::int64_t> parameters;  // how many the surrogate has, instead of a scale
  std::vector<std::string> widths;         // "w1=64"
  std::string rule = "mup";
  std::string decay = "scaled";
  bool keep_readout = false;
  // A study file, for its network and for the parameters that do not carry over.
  std::optional<std::string> study;
  bool explain = false;
  bool evaluation = false;
};

// Refuses the flags that 'model show' would silently ignore.
Status RefuseShrinkFlags(const Flags& flags) {
  for (const char* flag : {"--scale", "--parameters", "--min-width", "--width", "--rule", "--decay",
                           "--readout", "--study", "--explain"}) {
    if (flags.Given(flag))
      return InvalidArgument(fmt::format("model show: {} belongs to 'sluice model shrink'", flag));
  }
  return {};
}

void ModelFlags(Flags& flags, ModelOptions& options) {
  flags.Required("ACTION", options.action, "what to do, as in 'sluice model show net.pt2'");
  flags.Check([&options]() -> Status {
    const std::vector<std::string> actions = {"show", "shrink", "zoo"};
    SLUICE_TRY(ReadOneOf("model", options.action, actions));
    return {};
  });
  flags.OnlyIf([&options] { return options.action != "zoo"; });
  flags.Switch("--evaluation", options.evaluation);
  flags.Check([&flags, &options]() -> Status {
    if (options.action == "show") return RefuseShrinkFlags(flags);
    if (!options.evaluation) return {};
    return InvalidArgument("model shrink: --evaluation belongs to 'sluice model show'");
  });
  flags.Text("FILE", options.file);
  flags.Check([&flags, &options]() -> Status {
    if (!options.file.empty() || flags.Given("--study")) return {};
    return flags.Expected(
        "a file that torch.export.save wrote or zoo:NAME, as in 'sluice model show net.pt2'");
  });
  flags.Value("--scale", [&options](const std::string& word) -> Status {
    SLUICE_ASSIGN(options.scale, model::ReadScale(word));
    return {};
  });
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  flags.Value("--min-width", [&options](const std::string& word) -> Status {
    SLUICE_ASSIGN(options.min_width, ReadNumber<std::int64_t>("--min-width", word, 1, kMost));
    return {};
  });
  flags.Value("--parameters", [&options](const std::string& word) -> Status {
    if (options.scale)
      return InvalidArgument("model: expected either --scale or --parameters, found both");
    SLUICE_ASSIGN(options.parameters, ReadNumber<std::int64_t>("--parameters", word, 1, kMost));
    return {};
  });
  flags.Text("--rule", options.rule);
  flags.Text("--decay", options.decay);
  flags.Value("--readout", [&options](const std::string& word) -> Status {
    const std::vector<std::string> readouts = {"zero", "keep"};
    SLUICE_ASSIGN(const std::size_t readout, ReadOneOf("--readout", word, readouts));
    options.keep_readout = readout == 1;
    return {};
  });
  flags.Text("--study", options.study);
  flags.List("--width", options.widths);
  flags.List("--pin", options.pins);
  flags.Switch("--explain", options.explain);
}

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

// If the command line names no network, takes the network from the study, and also the scale unless
// the command line gives one. Adds to `notes` which of the study's parameters do not carry over.
Status TakeFromStudy(ModelOptions& options, std::vector<std::string>& notes) {
  SLUICE_ASSIGN(const StudyFile study, ReadStudyFile(*options.study));
  for (const std::string& note : WhatDoesNotCarryOver(study.spec.space))
    notes.push_back(fmt::format("{}: {}", *options.study, note));
  const std::optional<ModelSpec> model = ModelOf(study.spec);
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

// Gives the network its graph of evaluation. Values keep their places, so the widths remain those
// of the network. Returns what stays as in training.
Result<std::vector<std::string>> TurnIntoEvaluation(model::Network& network,
                                                    const std::string& name) {
  auto made = model::MakeEvaluation(network.graph);
  if (!made) return Fail(made.error().code, fmt::format("{}: {}", name, made.error().message));
  network.graph = std::move(made->graph);
  return std::move(made->notes);
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

Result<int> ModelAction(const Context& context, const ModelOptions& given) {
  if (given.action == "zoo") {
    ListZoo(context);
    return kExitOk;
  }
  ModelOptions options = given;
  std::vector<std::string> notes;
  if (options.study) SLUICE_TRY(TakeFromStudy(options, notes));
  SLUICE_ASSIGN(std::vector<model::Place> pins, ReadPins(options));
  SLUICE_ASSIGN(model::Network network, model::OpenNetwork(options.file, std::move(pins)));
  if (options.action == "show") {
    if (options.evaluation) {
      SLUICE_ASSIGN(notes, TurnIntoEvaluation(network, options.file));
    }
    if (context.json) {
      PrintLine(GraphJson(network.graph, network.widths, network.laws, notes));
    } else {
      Print(NetworkText(network, notes, context.terminal));
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

}  // namespace

Verb ModelVerb() { return MakeVerb(kModelHelp, ModelFlags, ModelAction); }

}  // namespace sluice
