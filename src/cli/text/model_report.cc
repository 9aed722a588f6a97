#include "cli/text/model_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/text/display_text.h"
#include "cli/text/print.h"
#include "cli/text/table.h"
#include "model/graph_json.h"
#include "model/graph_text.h"

namespace sluice {
namespace {

std::string LawText(const model::Law& law) {
  using Kind = model::Law::Kind;
  switch (law.kind) {
    case Kind::kUnknown: return "";
    case Kind::kConstant: return fmt::format("{:.4g}", law.mean);
    case Kind::kSinesInTurns:
    case Kind::kSinesFirst: return std::string(Name(law.kind));
    default: return fmt::format("{}, deviation {:.3g}", Name(law.kind), law.deviation);
  }
}

std::string SizesText(const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

// A factor as text: "x8" for 8, "/8" for an eighth, "" for 1.
std::string FactorText(double factor) {
  if (factor == 1) return "";
  return factor > 1 ? fmt::format("x{:.4g}", factor) : fmt::format("/{:.4g}", 1 / factor);
}

std::string NotesText(const std::vector<std::string>& notes, const Terminal& terminal) {
  std::string text;
  for (const std::string& note : notes)
    text += fmt::format("{}{}\n", Inked("note: ", Ink::kYellow, terminal), Harmless(note));
  return text;
}

std::string FirstMetIn(const model::WidthClass& width) {
  return fmt::format("{}, dimension {}", width.first.parameter, width.first.axis);
}

// A kept width shrinks last: once the other widths of its products are down to 1.
std::string WhenItShrinks(const model::WidthClass& width) { return width.kept ? "last" : "first"; }

std::string ExplainTable(const Surrogate& surrogate, const Terminal& terminal) {
  Table table({{"parameter"},
               {"shape"},
               {"becomes"},
               {"kind"},
               {"drawn"},
               {"lr SGD", Align::kRight},
               {"lr Adam", Align::kRight},
               {"decay SGD", Align::kRight},
               {"decay AdamW", Align::kRight},
               {"eps Adam", Align::kRight}});
  const model::Graph& graph = surrogate.original.graph;
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    const model::Parameter& parameter = graph.parameters[p];
    const model::ParameterPlan& its = surrogate.plan.parameters[p];
    if (!parameter.trainable) continue;
    const std::string drawn = parameter.tied_to
                                  ? fmt::format("is {}", graph.parameters[*parameter.tied_to].name)
                                  : (its.zeroed ? "0, here and in the original" : LawText(its.law));
    table.Add({{parameter.name},
               {SizesText(parameter.sizes)},
               {SizesText(surrogate.narrow.graph.parameters[p].sizes)},
               {std::string(Name(its.kind))},
               {drawn},
               {FactorText(its.sgd_lr)},
               {FactorText(its.adam_lr)},
               {FactorText(its.sgd_decay)},
               {FactorText(its.adamw_decay)},
               {FactorText(its.adam_eps)}});
  }
  return table.Render(terminal);
}

}  // namespace

std::string NetworkText(const model::Network& network, const std::vector<std::string>& notes,
                        const Terminal& terminal) {
  std::string text;
  const auto line = [&](std::string_view more) {
    text += more;
    text += '\n';
  };
  const model::Graph& graph = network.graph;
  line(fmt::format("{} trainable parameters, {}, {}{}", TrainableElements(graph),
                   Counted(std::ssize(graph.parameters), "tensor"),
                   Counted(std::ssize(graph.nodes), "operator"),
                   graph.made_by.empty() ? "" : fmt::format(", {}", Harmless(graph.made_by))));
  for (const model::ValueId input : graph.inputs) {
    line(fmt::format("input   {}: {}", Harmless(graph.value(input).name),
                     TensorText(graph, input, network.widths)));
  }
  for (const model::ValueId output : graph.outputs) {
    line(fmt::format("output  {}: {}", Harmless(graph.value(output).name),
                     TensorText(graph, output, network.widths)));
  }
  Table widths({{"width"}, {"size", Align::kRight}, {"shrinks"}, {"first met in"}});
  for (const model::WidthClass& width : network.widths.classes()) {
    widths.Add(
        {{width.name}, {fmt::to_string(width.size)}, {WhenItShrinks(width)}, {FirstMetIn(width)}});
  }
  line("");
  text += widths.Render(terminal);
  text += NotesText(network.widths.notes(), terminal);
  text += NotesText(notes, terminal);
  Table parameters(
      {{"parameter"}, {"shape"}, {"sizes"}, {"widths", Align::kRight}, {"initial law"}});
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const model::Parameter& parameter = graph.parameters[i];
    std::vector<std::string> formulas;
    for (const model::Dim dim : network.widths.inference().shape(parameter.value))
      formulas.push_back(network.widths.Formula(dim));
    const std::string tied =
        parameter.tied_to ? fmt::format("is {}", graph.parameters[*parameter.tied_to].name) : "";
    parameters.Add({{parameter.name},
                    {SizesText(parameter.sizes)},
                    {fmt::format("[{}]", Join(formulas))},
                    {fmt::to_string(network.widths.CountIn(parameter))},
                    {parameter.tied_to ? tied : LawText(network.laws[i])}});
  }
  line("");
  text += parameters.Render(terminal);
  line("");
  for (const model::Node& node : graph.nodes) line(Harmless(NodeText(graph, node, network.widths)));
  return text;
}

std::string SurrogateText(const Surrogate& surrogate, bool explain, const Terminal& terminal) {
  const model::Graph& graph = surrogate.original.graph;
  std::string text = fmt::format("{} trainable parameters become {}\n\n", TrainableElements(graph),
                                 TrainableElements(surrogate.narrow.graph));
  Table widths({{"width"}, {"size", Align::kRight}, {"becomes", Align::kRight}, {"first met in"}});
  const std::vector<model::WidthClass>& classes = surrogate.original.widths.classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    widths.Add({{classes[c].name},
                {fmt::to_string(classes[c].size)},
                {fmt::to_string(surrogate.narrow.sizes[c])},
                {FirstMetIn(classes[c])}});
  }
  text += widths.Render(terminal);
  text += NotesText(surrogate.notes, terminal);
  if (explain) text += '\n' + ExplainTable(surrogate, terminal);
  text += '\n';
  for (const model::Multiplier& multiplier : surrogate.plan.multipliers) {
    text += fmt::format("{} {}: {}\n", Harmless(graph.nodes[Index(multiplier.node)].name),
                        multiplier.argument.empty()
                            ? FactorText(multiplier.factor)
                            : fmt::format("{} = {:.4g}", multiplier.argument, multiplier.factor),
                        Harmless(multiplier.why));
  }
  if (surrogate.rule == "standard") {
    text +=
        "The rule 'standard' changes only initial spreads: what is found does not carry over "
        "to the original.\n";
  } else {
    text +=
        "What carries over to the original: learning rates, schedules, momentum, betas and initial "
        "scales; batch sizes with care. What does not: dropout, weight decay, depth.\n";
  }
  return text;
}

Result<std::string> SurrogateJson(const Surrogate& surrogate) {
  const auto numbers = [](const std::vector<std::int64_t>& list) {
    return fmt::format("[{}]", fmt::join(list, ","));
  };
  const auto& [original, narrow, plan, rule, notes] = surrogate;
  const model::Graph& graph = original.graph;
  const std::vector<model::WidthClass>& classes = original.widths.classes();
  const model::Graph multiplied = Multiplied(narrow.graph, plan.multipliers);
  SLUICE_ASSIGN(const model::Widths widths, model::Widths::Find(multiplied));
  std::vector<model::Law> laws;
  for (const model::ParameterPlan& each : plan.parameters) laws.push_back(each.law);
  std::size_t c = 0;
  std::size_t p = 0;
  JsonWriter object;
  object.Add("version", model::kGraphJsonVersion);
  object.AddJson(
      "widths", JsonList(classes, [&](std::string& json, const model::WidthClass& width) {
        JsonWriter each;
        each.Add("name", width.name).Add("from", width.size).Add("to", narrow.sizes[c++]);
        json += each.Take();
      }));
  object.AddJson("parameters",
                 JsonList(narrow.graph.parameters, [&](std::string& json, const auto& parameter) {
                   const model::ParameterPlan& its = plan.parameters[p];
                   JsonWriter each;
                   each.Add("name", parameter.name).Add("role", Name(parameter.role));
                   each.AddJson("shape", numbers(parameter.sizes));
                   each.AddJson("from", numbers(graph.parameters[p++].sizes));
                   each.Add("kind", Name(its.kind)).Add("zeroed", its.zeroed);
                   each.Add("drawn", Name(its.law.kind)).Add("mean", its.law.mean);
                   each.Add("deviation", its.law.deviation);
                   each.Add("sgd_lr", its.sgd_lr).Add("adam_lr", its.adam_lr);
                   each.Add("sgd_decay", its.sgd_decay).Add("adamw_decay", its.adamw_decay);
                   json += each.Add("adam_eps", its.adam_eps).Take();
                 }));
  object.AddJson("multipliers",
                 JsonList(plan.multipliers, [&](std::string& json, const auto& multiplier) {
                   JsonWriter each;
                   each.Add("node", graph.nodes[Index(multiplier.node)].name);
                   each.Add("factor", multiplier.factor).Add("why", multiplier.why);
                   json += each.Take();
                 }));
  object.AddJson("notes", JsonList(notes, [](std::string& json, const std::string& note) {
                   AppendJson(json, std::string_view(note));
                 }));
  object.AddJson("graph", GraphJson(multiplied, widths, laws));
  return object.Take();
}

}  // namespace sluice
