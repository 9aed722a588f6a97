#include "cli/model_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/display_text.h"
#include "cli/print.h"
#include "cli/table.h"
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

// "x8", "/8", "" for 1.
std::string FactorText(double factor) {
  if (factor == 1) return "";
  return factor > 1 ? fmt::format("x{:.4g}", factor) : fmt::format("/{:.4g}", 1 / factor);
}

std::string ExplainTable(const KnownModel& known, const model::Shrunken& narrow,
                         const model::Parametrisation& plan, const Terminal& terminal) {
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
  const model::Graph& graph = known.graph;
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    const model::Parameter& parameter = graph.parameters[p];
    const model::ParameterPlan& its = plan.parameters[p];
    if (!parameter.trainable) continue;
    const std::string drawn = parameter.tied_to
                                  ? fmt::format("is {}", graph.parameters[*parameter.tied_to].name)
                                  : (its.zeroed ? "0, here and in the original" : LawText(its.law));
    table.Add({{parameter.name},
               {SizesText(parameter.sizes)},
               {SizesText(narrow.graph.parameters[p].sizes)},
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

std::string ModelText(const KnownModel& known, const Terminal& terminal) {
  std::string text;
  const auto line = [&](std::string_view more) {
    text += more;
    text += '\n';
  };
  const model::Graph& graph = known.graph;
  line(fmt::format("{} of {} elements in all, {}{}",
                   Counted(std::ssize(graph.parameters), "tensor"), TrainableElements(graph),
                   Counted(std::ssize(graph.nodes), "operator"),
                   graph.made_by.empty() ? "" : fmt::format(", {}", Harmless(graph.made_by))));
  for (const model::ValueId input : graph.inputs) {
    line(fmt::format("input   {}: {}", Harmless(graph.value(input).name),
                     TensorText(graph, input, known.widths)));
  }
  for (const model::ValueId output : graph.outputs) {
    line(fmt::format("output  {}: {}", Harmless(graph.value(output).name),
                     TensorText(graph, output, known.widths)));
  }
  Table widths({{"width", Align::kLeft}, {"size", Align::kRight}, {"first met in"}});
  for (const model::WidthClass& width : known.widths.classes()) {
    widths.Add({{width.name},
                {fmt::to_string(width.size)},
                {fmt::format("{}, dimension {}", width.first.parameter, width.first.axis)}});
  }
  line("");
  text += widths.Render(terminal);
  for (const std::string& note : known.notes)
    line(fmt::format("{}{}", Inked("note: ", Ink::kYellow, terminal), Harmless(note)));
  Table parameters(
      {{"parameter"}, {"shape"}, {"sizes"}, {"widths", Align::kRight}, {"initial law"}});
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const model::Parameter& parameter = graph.parameters[i];
    std::vector<std::string> formulas;
    for (const model::Dim dim : known.widths.inference().shape(parameter.value))
      formulas.push_back(known.widths.Formula(dim));
    const std::string tied =
        parameter.tied_to ? fmt::format("is {}", graph.parameters[*parameter.tied_to].name) : "";
    parameters.Add({{parameter.name},
                    {fmt::format("[{}]", fmt::join(parameter.sizes, ", "))},
                    {fmt::format("[{}]", Join(formulas))},
                    {fmt::to_string(known.widths.CountIn(parameter))},
                    {parameter.tied_to ? tied : LawText(known.laws[i])}});
  }
  line("");
  text += parameters.Render(terminal);
  line("");
  for (const model::Node& node : graph.nodes) line(Harmless(NodeText(graph, node, known.widths)));
  return text;
}

std::string SurrogateText(const KnownModel& known, const model::Shrunken& narrow,
                          const model::Parametrisation& plan, const SurrogateTextOptions& options,
                          const Terminal& terminal) {
  const model::Graph& graph = known.graph;
  std::string text = fmt::format("{} trainable parameters become {}\n\n", TrainableElements(graph),
                                 TrainableElements(narrow.graph));
  Table widths({{"width"}, {"size", Align::kRight}, {"becomes", Align::kRight}, {"first met in"}});
  const std::vector<model::WidthClass>& classes = known.widths.classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    widths.Add(
        {{classes[c].name},
         {fmt::to_string(classes[c].size)},
         {fmt::to_string(narrow.sizes[c])},
         {fmt::format("{}, dimension {}", classes[c].first.parameter, classes[c].first.axis)}});
  }
  text += widths.Render(terminal);
  for (const std::string& note : known.notes)
    text += fmt::format("{}{}\n", Inked("note: ", Ink::kYellow, terminal), Harmless(note));
  if (options.explain) text += '\n' + ExplainTable(known, narrow, plan, terminal);
  text += '\n';
  for (const model::Multiplier& multiplier : plan.multipliers) {
    text += fmt::format("{} {}: {}\n", Harmless(graph.nodes[Index(multiplier.node)].name),
                        multiplier.argument.empty()
                            ? FactorText(multiplier.factor)
                            : fmt::format("{} = {:.4g}", multiplier.argument, multiplier.factor),
                        Harmless(multiplier.why));
  }
  if (options.rule == "standard") {
    text +=
        "The rule 'standard' rescales nothing: what is found does not carry over to the "
        "original.\n";
  } else {
    text +=
        "What carries over to the original: learning rates, schedules, momentum, betas and initial "
        "scales; "
        "batch sizes with care. What does not: dropout, weight decay, depth.\n";
  }
  return text;
}

Result<std::string> SurrogateJson(const KnownModel& known, const model::Shrunken& narrow,
                                  const model::Parametrisation& plan) {
  const auto numbers = [](const std::vector<std::int64_t>& list) {
    return fmt::format("[{}]", fmt::join(list, ","));
  };
  const model::Graph& graph = known.graph;
  const std::vector<model::WidthClass>& classes = known.widths.classes();
  const model::Graph surrogate = Multiplied(narrow.graph, plan.multipliers);
  SLUICE_ASSIGN(const model::Widths widths, model::Widths::Find(surrogate));
  std::vector<model::Law> laws;
  for (const model::ParameterPlan& each : plan.parameters) laws.push_back(each.law);
  std::size_t c = 0;
  std::size_t p = 0;
  JsonWriter object;
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
  object.AddJson("notes", JsonList(known.notes, [](std::string& json, const std::string& note) {
                   AppendJson(json, std::string_view(note));
                 }));
  object.AddJson("graph", GraphJson(surrogate, widths, laws));
  return object.Take();
}

}  // namespace sluice
