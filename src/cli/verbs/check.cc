#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/inspect/narrow_check.h"
#include "cli/study_file.h"
#include "cli/text/describe.h"
#include "cli/text/describe_stopper.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/carried_out.h"
#include "exec/machine/machine.h"
#include "exec/session/leaders.h"
#include "exec/wall_clock.h"
#include "ledger/earlier_study.h"
#include "policy/fusion.h"
#include "search/rungs/judged_at.h"

namespace sluice {
namespace {

constexpr std::string_view kCheckHelp =
    R"(usage: sluice check STUDY.yaml [--trials N]

Reads a study file and says what 'sluice tune' would do with it on this machine: what is
searched and how, how many trials run at the same time, and what looks wrong. Nothing is run and
nothing is written. For a sweep file of Weights & Biases, also says which keys have no effect.

  --trials N    as for 'sluice tune'
  --store FILE  the store to look for a study of the same name in
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice check study.yaml
  sluice check study.yaml && sluice tune study.yaml
  sluice check study.yaml --json | jq .parallelism
)";

struct CheckOptions {
  std::string file;
  std::optional<int> trials;
};

void CheckFlags(Flags& flags, CheckOptions& options) {
  flags.Required("STUDY", options.file, "a study file, as in 'sluice check study.yaml'");
  flags.Count("--trials", options.trials);
}

constexpr int kManyAtOnce = 100'000;

std::string Milliths(Milli amount) {
  return fmt::format("{}", static_cast<double>(amount) / kWhole);
}

std::string DescribeLaw(const Parameter& parameter) {
  const std::string first = FullNumber(parameter.first);
  const std::string second = FullNumber(parameter.second);
  switch (parameter.law) {
    case Law::kUniform: return "";
    case Law::kLog: return ", log scale";
    case Law::kInverseLog: return ", inverse log scale";
    case Law::kNormal: return fmt::format(", normal around {}, sigma {}", first, second);
    case Law::kLogNormal:
      return fmt::format(", lognormal, mean of the log {}, sigma {}", first, second);
    case Law::kBeta: return fmt::format(", beta of {} and {}", first, second);
  }
  return "";
}

std::string DescribeParameter(const Parameter& parameter) {
  std::string text;
  if (parameter.has_choices()) {
    std::vector<std::string> choices;
    for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
      choices.push_back(FormatValue(parameter.choices[i]));
      if (!parameter.weights.empty())
        choices.back() += fmt::format(" ({:.3g} %)", parameter.weights[i] * 100);
    }
    text = fmt::format("{} of {}", parameter.kind == ParameterKind::kOrdinal ? "ordinal" : "choice",
                       Join(choices));
  } else {
    text = fmt::format("{} from {} to {}", parameter.kind == ParameterKind::kInt ? "int" : "float",
                       FullNumber(parameter.low), FullNumber(parameter.high)) +
           DescribeLaw(parameter);
    if (parameter.step != 0) text += fmt::format(", step {}", FullNumber(parameter.step));
  }
  if (!parameter.when.empty()) text += fmt::format("; when {}", parameter.when);
  return text;
}

std::string DescribeMachine(const Machine& machine) {
  std::string text = fmt::format("{} cores, {} of memory", Milliths(machine.node.cpus),
                                 FormatBytes(machine.memory_bytes));
  if (machine.node.devices.empty())
    return text + ", no GPU" + (machine.gpu_note.empty() ? "" : ": " + machine.gpu_note);
  std::vector<std::string> kinds;
  for (const Device& device : machine.node.devices) kinds.push_back(device.kind);
  return fmt::format("{}, {} ({})", text, Counted(static_cast<long long>(kinds.size()), "GPU"),
                     Join(kinds));
}

// How many of the study's trials run at the same time if nothing else runs on the machine.
int FitsAtOnce(const Machine& machine, const StudySpec& spec) {
  Cluster cluster;
  cluster.Join(machine.node);
  const int most =
      std::min({spec.parallelism > 0 ? spec.parallelism : kManyAtOnce, spec.trials, kManyAtOnce});
  const SpeedModel speeds;
  const StudyView study{.demand = spec.demand, .shape = spec.name};
  const Fusion fusion(speeds, study);
  const bool fuses = TraitsOf(spec.policy).can.fuses && MostFused(study) > 1;
  Demand demand = spec.demand;
  if (fuses && demand.gpus > 0) demand.gpus = kWhole;  // a bundle has a GPU of its own
  int count = 0;
  while (count < most) {
    const Grant grant = FirstFit(cluster, demand);
    if (!IsSet(grant.node)) break;
    cluster.Take(grant);
    if (!fuses) {
      ++count;
    } else if (grant.devices.empty()) {
      count += fusion.knee();
    } else {
      count += fusion.MostOn(machine.node.devices[Number(grant.devices.front())]);
    }
  }
  return std::min(count, most);
}

// What 'sluice check' finds out about a study beyond what its file says.
struct Findings {
  std::optional<std::string> program;  // path of the program
  std::string warm_start;              // what the study gets from its 'warm_start'
  std::vector<std::string> warnings;
  struct Wrong {
    Error error;
    std::string place = {};  // in the file; empty: the message begins with the key
  };
  std::vector<Wrong> errors;
};

// The parameters that are not passed to the program. A parameter is passed if the program's
// arguments or its environment have {NAME}, or a word for all parameters ({args}, {params}).
std::vector<std::string> NotPassed(const StudySpec& spec) {
  const auto passes = [&](std::string_view word) {
    return std::ranges::any_of(spec.program,
                               [&](const std::string& item) { return item.contains(word); }) ||
           std::ranges::any_of(spec.environment,
                               [&](const auto& entry) { return entry.second.contains(word); });
  };
  std::vector<std::string> names;
  if (passes("{args") || passes("{params}")) return names;
  for (const Parameter& parameter : spec.space.parameters()) {
    if (!passes(fmt::format("{{{}}}", parameter.name))) names.push_back(parameter.name);
  }
  return names;
}

Findings Inspect(const Context& context, const StudyFile& file, const Machine& machine,
                 int at_once) {
  Findings found;
  const StudySpec& spec = file.spec;
  auto program = FindProgram(spec, file.folder);
  if (program) {
    found.program = *program;
  } else {
    found.errors.push_back({program.error(), file.place});
  }
  if (const Status status = CheckCarriedOut(spec); !status)
    found.errors.push_back({status.error()});
  if (const Status status = CheckLeader(context.paths.database, spec); !status)
    found.errors.push_back({status.error()});
  if (at_once == 0) {
    found.errors.push_back({Error{
        ErrorCode::kFailedPrecondition,
        fmt::format("resources: a trial needs {} cores and {} GPUs, this machine has {} and {}",
                    Milliths(spec.demand.cpus), Milliths(spec.demand.gpus),
                    Milliths(machine.node.cpus), machine.node.devices.size())}});
  } else if (at_once < std::min(spec.parallelism, spec.trials)) {
    found.warnings.push_back(
        fmt::format("parallelism is {}, but only {} fit on this machine at once", spec.parallelism,
                    Counted(at_once, "trial")));
  }
  // A script that imports wandb or the package sluice gets its parameters through that module.
  const std::vector<std::string> kept = NotPassed(spec);
  if (!spec.sweep && !spec.training && !kept.empty() && !ScriptNamesSluice(spec, file.folder)) {
    found.warnings.push_back(
        kept.size() == spec.space.size()
            ? "program: no parameter is passed to it ({args} or {NAME}); it has to use the package "
              "sluice, or read the file $SLUICE_PARAMS"
            : fmt::format("program: {} {} not passed to it; add --{}={{{}}}, unless it reads "
                          "$SLUICE_PARAMS",
                          Join(kept), kept.size() == 1 ? "is" : "are", kept.front(), kept.front()));
  }
  found.warnings.insert(found.warnings.end(), file.remarks.begin(), file.remarks.end());
  if (file.training && program) {
    const std::vector<std::string> remarks =
        CheckNarrow(file.training->narrow, **program, file.folder);
    found.warnings.insert(found.warnings.end(), remarks.begin(), remarks.end());
  }
  if (spec.sweep && spec.demand.gpus == 0 && !machine.node.devices.empty()) {
    found.warnings.push_back(
        "resources: trials see no GPU unless the file asks for one: add 'resources: {gpus: 1}'");
  }
  found.warnings.insert(found.warnings.end(), spec.notes.begin(), spec.notes.end());
  if (const Status status = CheckHasEnd(spec, /*trials_given=*/false); !status)
    found.errors.push_back({status.error()});
  if (spec.warm_start) {
    const auto knowledge = GatherKnowledge(
        spec, {.store = context.paths.database, .folder = file.folder}, spec.seed.value_or(0));
    if (knowledge) {
      found.warm_start = knowledge->summary;
      for (const std::string& note : knowledge->notes)
        found.warnings.push_back("warm_start: " + note);
    } else {
      found.errors.push_back({knowledge.error()});
    }
  }
  const auto points = spec.space.Cardinality();
  if (points && !spec.endless && *points < static_cast<std::uint64_t>(spec.trials)) {
    found.warnings.push_back(fmt::format("trials is {}, but the space has only {}", spec.trials,
                                         Counted(static_cast<long long>(*points), "point")));
  }
  if (spec.deadline_at && *spec.deadline_at <= WallNow()) {
    found.warnings.push_back(fmt::format("deadline: {} has passed", FormatTime(*spec.deadline_at)));
  }
  if (const auto reader = Reader::Open(context.paths.database);
      reader && (*reader)->FindStudy(spec.name)) {
    found.warnings.push_back(
        fmt::format("a study '{0}' exists already: 'sluice resume {0}' goes on with it, "
                    "'sluice tune --name' makes another",
                    spec.name));
  }
  for (std::string& warning : found.warnings) warning = Placed(file, warning);
  return found;
}

std::string DescribeSize(const Space& space) {
  const auto points = space.Cardinality();
  const bool infinite = std::ranges::any_of(
      space.parameters(), [](const Parameter& parameter) { return !parameter.Cardinality(); });
  return Counted(static_cast<long long>(space.size()), "parameter") +
         (points     ? fmt::format(", {}", Counted(static_cast<long long>(*points), "point"))
          : infinite ? ", infinitely many points"
                     : ", more points than can be counted");
}

std::string DescribePlannedEnd(const StudySpec& spec) {
  std::string text = spec.endless ? "--trials N are made" : Counted(spec.trials, "trial");
  for (const StopAt& stop : spec.stop_at) {
    text += fmt::format(
        ", or {} {} {}", stop.metric,
        stop.direction == Direction::kMinimize ? "<=" : ">=", FullNumber(stop.threshold));
  }
  if (spec.deadline_after) text += fmt::format(", or {}", FormatDuration(*spec.deadline_after));
  if (spec.deadline_at) text += fmt::format(", or at {}", FormatTime(*spec.deadline_at));
  return text;
}

std::string DescribeEnqueued(const StudySpec& spec) {
  if (spec.enqueue.empty()) return "";
  return Counted(static_cast<long long>(spec.enqueue.size()), "point") + ", tried first";
}

void ShowCheck(const Context& context, const StudyFile& file, const Machine& machine, int at_once,
               const Findings& found) {
  const StudySpec& spec = file.spec;
  const Terminal& terminal = context.terminal;
  std::vector<std::string> program;
  for (const std::string& item : spec.program) program.push_back(item);
  std::string space;
  const auto reaches = spec.training ? DescribeReach(spec) : std::map<std::string, std::string>{};
  for (const Parameter& parameter : spec.space.parameters()) {
    const auto reach = reaches.find(parameter.name);
    space += fmt::format("  {}: {}{}\n", parameter.name, DescribeParameter(parameter),
                         reach == reaches.end() ? "" : " -> " + reach->second);
  }
  for (const std::string& constraint : spec.space.constraints())
    space += fmt::format("  where {}\n", constraint);
  const std::string direction =
      spec.objective.direction == Direction::kMinimize ? "minimize" : "maximize";
  const bool last = spec.objective.of == Of::kLast;
  Print(Labelled({{"study", Inked(spec.name, Ink::kBold, terminal)},
                  {"trains", file.training ? file.training->networks : ""},
                  {"data", file.training ? file.training->data : ""},
                  {"reports", file.training ? Join(file.training->metrics) : ""},
                  {"program", Join(program, " ")},
                  {"found at", found.program.value_or("")},
                  {"runs in", file.folder},
                  {"objective", fmt::format("{} {}{}", direction, spec.objective.metric,
                                            last ? ", as reported last" : "")},
                  {"sampler", spec.sampler.name},
                  {"enqueued", DescribeEnqueued(spec)},
                  {"warm start", found.warm_start},
                  {"stopper", DescribeStopper(spec)},
                  {"until", DescribePlannedEnd(spec)},
                  {"each trial", fmt::format("{} cores, {} GPUs", Milliths(spec.demand.cpus),
                                             Milliths(spec.demand.gpus))},
                  {"machine", DescribeMachine(machine)},
                  {"at once", Counted(at_once, "trial")},
                  {"space", DescribeSize(spec.space)}},
                 terminal) +
        space);
  for (const std::string& warning : found.warnings)
    Print(Inked("warning: ", Ink::kYellow, terminal) + warning + "\n");
}

std::string CheckJson(const StudyFile& file, const Machine& machine, int at_once,
                      const Findings& found) {
  const StudySpec& spec = file.spec;
  const auto texts = [](const std::vector<std::string>& items) {
    std::vector<std::string> quoted;
    for (const std::string& item : items) quoted.push_back(JsonText(item));
    return JsonArray(quoted);
  };
  std::vector<std::string> errors;
  for (const Findings::Wrong& wrong : found.errors) errors.push_back(wrong.error.message);
  std::vector<std::string> rungs;
  for (const Work level : JudgedAt(spec.stopper)) rungs.push_back(std::to_string(level));
  JsonWriter space;
  for (const Parameter& parameter : spec.space.parameters()) {
    space.Add(parameter.name, DescribeParameter(parameter));
  }
  const auto points = spec.space.Cardinality();
  JsonWriter object;
  object.Add("study", spec.name).AddJson("program", texts(spec.program));
  object.AddOptional("found_at", found.program).Add("folder", file.folder);
  object.Add("metric", spec.objective.metric);
  object.Add("direction",
             spec.objective.direction == Direction::kMinimize ? "minimize" : "maximize");
  object.Add("of", spec.objective.of == Of::kLast ? "last" : "best");
  object.Add("sampler", spec.sampler.name).Add("stopper", spec.stopper.name);
  object.Add("enqueued", static_cast<std::int64_t>(spec.enqueue.size()));
  object.AddOptional("warm_start",
                     found.warm_start.empty() ? std::nullopt : std::optional(found.warm_start));
  object.AddJson("rungs", JsonArray(rungs));
  object.AddJson("max_budget", spec.stopper.max_budget == kNoLimit
                                   ? "null"
                                   : std::to_string(spec.stopper.max_budget));
  object.Add("unit", spec.unit).Add("trials", spec.trials).Add("parallelism", at_once);
  object.Add("cpus", static_cast<double>(machine.node.cpus) / kWhole);
  object.Add("gpus", static_cast<std::int64_t>(machine.node.devices.size()));
  if (file.training) {
    JsonWriter training;
    training.Add("networks", file.training->networks).Add("data", file.training->data);
    training.AddJson("metrics", texts(file.training->metrics));
    JsonWriter reaches;
    for (const auto& [name, reach] : DescribeReach(spec)) reaches.Add(name, reach);
    object.AddJson("training", training.AddJson("reaches", reaches.Take()).Take());
  }
  object.AddJson("space", space.Take())
      .AddJson("constraints", texts(spec.space.constraints()))
      .AddJson("points", points ? std::to_string(*points) : "null");
  object.AddJson("warnings", texts(found.warnings)).AddJson("errors", texts(errors));
  return object.Take();
}

Result<int> CheckAction(const Context& context, const CheckOptions& options) {
  SLUICE_ASSIGN(StudyFile file, ReadStudyFile(options.file));
  if (options.trials) {
    file.spec.trials = *options.trials;
    file.spec.endless = false;
  }
  const Machine machine = InspectMachine();
  const int at_once = FitsAtOnce(machine, file.spec);
  const Findings found = Inspect(context, file, machine, at_once);
  if (context.json) {
    PrintLine(CheckJson(file, machine, at_once, found));
  } else {
    ShowCheck(context, file, machine, at_once, found);
  }
  for (const auto& [error, place] : found.errors)
    Remark(fmt::format("{}: {}",
                       place.empty() ? PlaceOf(file.source, options.file, error.message) : place,
                       error.message));
  if (found.errors.empty()) return kExitOk;
  return found.errors.front().error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure;
}

}  // namespace

Verb CheckVerb() { return MakeVerb(kCheckHelp, CheckFlags, CheckAction); }

}  // namespace sluice
