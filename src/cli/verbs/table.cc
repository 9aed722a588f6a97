#include "cli/verbs/table.h"

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr std::string_view kOverviewHead = R"(sluice: tune the hyperparameters of any program

usage: sluice VERB [ARGUMENT...] [--store FILE] [--json]
)";

constexpr std::string_view kOverviewFoot = R"(
If no study is named, the study that was changed last is meant.

  --store FILE  where studies are kept (else $SLUICE_STORE, else
                ~/.local/share/sluice/sluice.db)
  --json        print for programs instead of people
  --version     print the version
  -h, --help    print this, or the help of a verb

exit status: 0 done, 1 failed, 2 wrong usage or input, 130 paused by Ctrl-C

examples:
  sluice tune study.yaml              run a study
  sluice best                         what came out of it
  sluice trials --sort value          all trials, best first
  sluice tune --help                  more about one verb
)";

}  // namespace

// Each verb is defined in the file that has its name.
Verb TuneVerb(), CheckVerb(), ResumeVerb(), RunVerb(), StudiesVerb(), StatusVerb(), WatchVerb(),
    TrialsVerb(), BestVerb(), LogsVerb(), ExportVerb(), EnqueueVerb(), RetryVerb(), StopVerb(),
    DeleteVerb(), ImportVerb(), PlanVerb(), SimulateVerb(), DoctorVerb(), ModelVerb(), DataVerb(),
    PauseVerb(), ControllerVerb();

namespace {

constexpr VerbRow kTable[] = {
    {"run", "tune", "STUDY.yaml", "make a study and run it to its end; Ctrl-C pauses it", TuneVerb},
    {"run", "check", "STUDY.yaml", "say what tune would do, and run nothing", CheckVerb},
    {"run", "resume", "NAME", "go on with a study: after Ctrl-C, a crash, or with more trials",
     ResumeVerb},
    {"run", "pause", "[NAME]", "pause a study: what runs saves and leaves", PauseVerb},
    {"run", "run", "[NAME]",
     "run the program once more with the best parameters, outside the study", RunVerb},

    {"look", "studies", "", "every study in the store, one per line", StudiesVerb},
    {"look", "status", "[NAME]", "how a study stands", StatusVerb},
    {"look", "watch", "[NAME]", "how a study stands, live; with --all, all that run", WatchVerb},
    {"look", "trials", "[NAME]", "the trials of a study as a table", TrialsVerb},
    {"look", "best", "[NAME]", "the best trial, its parameters, and how to run it again", BestVerb},
    {"look", "logs", "TRIAL", "what a trial printed", LogsVerb},
    {"look", "export", "[NAME]", "trials or reports as CSV, JSON lines or an Optuna storage",
     ExportVerb},

    {"change", "enqueue", "NAME P=V", "try points of your own first", EnqueueVerb},
    {"change", "retry", "TRIAL", "give a failed or stopped trial another chance", RetryVerb},
    {"change", "stop", "[NAME]", "end a study for good", StopVerb},
    {"change", "delete", "NAME", "remove a study and all its files", DeleteVerb},
    {"change", "import", "FILE", "copy a study of Optuna into the store", ImportVerb},

    {"plan", "plan", "STUDY.yaml", "predict what tune would do under each policy, and advise one",
     PlanVerb},
    {"plan", "simulate", "SCENARIO", "try policies on a simulated cluster, in virtual time",
     SimulateVerb},
    {"plan", "doctor", "", "check this machine and the store", DoctorVerb},
    {"plan", "controller", "", "run the studies of a store; started by itself when it is needed",
     ControllerVerb},

    {"model", "model", "show FILE",
     "a network exported from PyTorch: its widths, parameters, operators\n"
     "model shrink FILE make a narrower network, to be tuned in place of the original",
     ModelVerb},
    {"model", "data", "import SOURCE", "unpack a data set into the plain files that are trained on",
     DataVerb},
};

// The verbs by group, a line each.
std::string Overview() {
  std::string text(kOverviewHead);
  std::string_view group;
  for (const VerbRow& row : kTable) {
    if (row.group != group) text += fmt::format("\n{}\n", row.group);
    group = row.group;
    std::string line =
        fmt::format("{:<17} {}", fmt::format("{} {}", row.name, row.arguments), row.summary);
    if (const std::size_t end = line.find('\n'); end != std::string::npos)
      line.insert(end + 1, "  ");
    text += fmt::format("  {}\n", line);
  }
  return text + std::string(kOverviewFoot);
}

}  // namespace

std::span<const VerbRow> VerbTable() { return kTable; }

const std::vector<std::string>& VerbNames() {
  static const auto& names = *[] {
    auto* list = new std::vector<std::string>;
    for (const VerbRow& row : kTable) list->emplace_back(row.name);
    return list;
  }();
  return names;
}

std::string HelpFor(std::string_view verb) {
  if (verb.empty()) return Overview();
  for (const VerbRow& row : kTable) {
    if (row.name == verb) return std::string(row.make().help);
  }
  return "";
}

}  // namespace sluice
