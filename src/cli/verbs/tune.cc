#include <fmt/format.h>

#include <limits>
#include <random>

#include "base/text.h"
#include "cli/inspect/narrow_check.h"
#include "cli/study_file.h"
#include "cli/text/print.h"
#include "cli/verbs/run_summary.h"
#include "cli/verbs/verb.h"
#include "engine/read/study_change.h"
#include "exec/session/leaders.h"
#include "exec/session/session.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

constexpr std::string_view kTuneHelp =
    "usage: sluice tune STUDY.yaml "
    R"([--name NAME] [--trials N] [--seed N] [--replace] [--detach] [-q]
                   [--plain]

Makes a study from a file, and shows it until its end. Every report is on disk before it counts, so
nothing is lost if a process or the machine dies. After Ctrl-C, running trials save and exit; a
second Ctrl-C kills them. 'sluice resume NAME' continues the study.

A process of its own runs the studies of a store, side by side. So the study goes on if this
terminal is closed: 'sluice watch' shows it again, and 'sluice pause' pauses it.

A sweep file of Weights & Biases is a study too: its scripts run as they are (docs/sweeps.md).

  --name NAME   the name of the study, instead of the name in the file
  --trials N    make N trials, instead of the number in the file
  --replace     first remove an earlier study of the same name, with its files
  --seed N      the seed; the same seed draws the same parameters again
  --detach      return once the study has begun
  -q, --quiet   show nothing until the end
  --plain       a line now and then instead of a live view (always so if the output is no terminal)
  --store FILE  where studies are kept
  --json        progress as one JSON object per line, at most one per second; the last has
                "event": "summary"
  -h, --help    print this

examples:
  sluice tune study.yaml
  sluice tune study.yaml --name lr-again --trials 100
  sluice tune study.yaml --detach         'sluice watch' shows it
  sluice tune study.yaml --json | jq 'select(.event == "summary") | .best.params'
)";

struct TuneOptions {
  std::string file;
  std::optional<std::string> name;
  std::optional<int> trials;
  std::optional<std::uint64_t> seed;
  bool quiet = false;
  bool plain = false;
  bool replace = false;  // remove an earlier study of the same name
  bool detach = false;
};

void TuneFlags(Flags& flags, TuneOptions& options) {
  flags.Required("STUDY", options.file, "a study file, as in 'sluice tune study.yaml'");
  flags.Text("--name", options.name);
  flags.Count("--trials", options.trials);
  flags.Value("--seed", [&options](const std::string& word) -> Status {
    // The largest seed that a study file may have.
    constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();
    SLUICE_ASSIGN(options.seed, ReadNumber<std::uint64_t>("--seed", word, 0, kMaxSeed));
    return {};
  });
  flags.Switch("--replace", options.replace);
  flags.Switch("--detach", options.detach);
  flags.Switch("-q,--quiet", options.quiet);
  flags.Switch("--plain", options.plain);
}

std::uint64_t DrawSeed() {
  std::random_device device;
  const std::uint64_t high = device();
  // Below 2^63, as all seeds in study files, so that the user can write this seed into a file.
  return ((high << 32) | device()) >> 1;
}

// Removes an earlier study of this name if the user wants that (--replace). Without --replace,
// fails if there is such a study; the message says how its file differs from `file`.
Status MakeRoom(const Context& context, const TuneOptions& options, const StudyFile& file) {
  const auto reader = Reader::Open(context.paths.database);
  const auto earlier =
      reader ? (*reader)->FindStudy(file.spec.name) : Result<StudyInfo>(NotFound(""));
  if (!earlier) return {};  // also if the store cannot be read: the first write reports that
  if (options.replace) return DeleteStudy(context.paths, earlier->name);
  SLUICE_ASSIGN(const std::string source, (*reader)->Source(earlier->id));
  SLUICE_ASSIGN(const StudyDifference difference,
                CompareSources(source, file.source, options.file));
  const std::string there =
      fmt::format("a study '{}' is in {} already", earlier->name, context.paths.database);
  const std::string others = fmt::format(
      "'sluice tune {} --replace' removes it and begins anew, --name makes another", options.file);
  if (earlier->open) {
    return FailedPrecondition(
        fmt::format("{}, and runs: 'sluice watch {}' shows it; {}", there, earlier->name, others));
  }
  if (difference.empty()) {
    return FailedPrecondition(
        fmt::format("{}: go on with it by 'sluice resume {}'; {}", there, earlier->name, others));
  }
  const std::string advice =
      difference.fixed.empty()
          ? fmt::format("'sluice resume {}' goes on with these changes", options.file)
          : fmt::format("{} cannot change in it; 'sluice resume {}' goes on as it was",
                        Join(difference.fixed), earlier->name);
  return FailedPrecondition(fmt::format("{}, made of a file that was different:\n{}{}; {}", there,
                                        difference.text, advice, others));
}

Result<int> TuneAction(const Context& context, const TuneOptions& options) {
  SLUICE_ASSIGN(StudyFile file, ReadStudyFile(options.file));
  if (options.name) {
    if (const Status good = CheckStudyName(*options.name); !good) {
      return InvalidArgument("--name: " + good.error().message);
    }
    file.spec.name = *options.name;
  }
  if (const Status good = CheckHasEnd(file.spec, options.trials.has_value()); !good)
    return InvalidArgument(fmt::format("{}: {}", options.file, good.error().message));
  if (options.trials && !file.spec.transfer.empty()) {
    return InvalidArgument(
        "--trials: expected nothing beside 'transfer', since the trials are the best of another "
        "study; leave it out");
  }
  if (options.trials) file.spec.trials = *options.trials;
  // Before --replace removes anything.
  if (const Status led = CheckLeader(context.paths.database, file.spec); !led)
    return Fail(led.error().code, Placed(file, led.error().message));
  const auto program = FindProgram(file.spec, file.folder);
  if (!program)
    return Fail(program.error().code, fmt::format("{}: {}", file.place, program.error().message));
  if (!options.quiet) {
    for (const auto& notes : {file.spec.notes, file.remarks}) {
      for (const std::string& note : notes) Remark(Placed(file, note));
    }
  }
  const std::string name = file.spec.name;
  SLUICE_TRY(MakeRoom(context, options, file));
  if (file.training && !options.quiet) {
    for (const std::string& remark : CheckNarrow(file.training->narrow, **program, file.folder))
      Remark(Placed(file, remark));
  }
  const std::uint64_t seed = options.seed     ? *options.seed
                             : file.spec.seed ? *file.spec.seed
                                              : DrawSeed();
  const TuneRequest request{.paths = context.paths,
                            .spec = std::move(file.spec),
                            .source = std::move(file.source),
                            .folder = std::move(file.folder),
                            .seed = seed};
  return ShowRun(context, name, {options.quiet, options.plain, options.detach},
                 [&request](const Say& say) { return Tune(request, say); });
}

}  // namespace

Verb TuneVerb() { return MakeVerb(kTuneHelp, TuneFlags, TuneAction); }

}  // namespace sluice
