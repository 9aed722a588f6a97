#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/config_text.h"
#include "cli/study_file.h"
#include "cli/text/print.h"
#include "cli/verbs/run_summary.h"
#include "cli/verbs/verb.h"
#include "engine/read/study_change.h"
#include "exec/session/session.h"
#include "exec/wall_clock.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

constexpr std::string_view kResumeHelp =
    R"(usage: sluice resume NAME|STUDY.yaml [--trials N] [--deadline D] [--detach] [-q] [--plain]

Continues a study that was paused by Ctrl-C, was cut off by a crash, or has finished and gets more
trials or time. A study that runs is changed, and shown. Trials that still run are adopted. Trials
that were interrupted continue from their checkpoints. If the argument is a file (it has a '/', or
ends in .yaml or .yml), the values in the file apply for the keys that can change: trials, deadline,
parallelism, policy, timeouts, retries, backoff and max_failures.

  --trials N    a new total number of trials
  --deadline D  a new deadline: a duration from now (20m, 1h30m) or a time (2026-01-31T18:00:00Z)
  --detach      return once the study goes on
  -q, --quiet   show nothing until the end
  --plain       a line now and then instead of a live view
  --store FILE  where studies are kept
  --json        progress as one JSON object per line, as for tune
  -h, --help    print this

examples:
  sluice resume fashion
  sluice resume fashion --trials 200      make more trials of a finished study
  sluice resume fashion --deadline 1h
  sluice resume study.yaml                with what was edited in the file
)";

struct ResumeOptions {
  std::string study;
  std::optional<int> trials;
  std::optional<std::string> deadline;  // a duration from now, or a time
  bool quiet = false;
  bool plain = false;
  bool detach = false;
};

void ResumeFlags(Flags& flags, ResumeOptions& options) {
  flags.Required("NAME", options.study, "the name of a study, or its file");
  flags.Count("--trials", options.trials);
  flags.Text("--deadline", options.deadline);
  flags.Switch("-q,--quiet", options.quiet);
  flags.Switch("--plain", options.plain);
  flags.Switch("--detach", options.detach);
}

Result<Time> ReadDeadline(const std::string& text) {
  const auto duration = ParseDuration(text);
  if (duration && *duration > Duration(0)) return WallNow() + *duration;
  if (const auto time = ParseTime(text)) return *time;
  return InvalidArgument(
      fmt::format("--deadline: expected a duration such as 20m, or a time with its zone such as "
                  "2026-01-31T18:00:00Z, found '{}'",
                  text));
}

// Tells the user which study files were edited since the study was made, because `resume NAME` does
// not apply their changes.
void TellOfEdits(const Context& context, const std::string& name) {
  constexpr int kMostFiles = 50;
  constexpr std::uintmax_t kLargest = 1 << 20;
  const auto reader = Reader::Open(context.paths.database);
  const auto study = reader ? (*reader)->FindStudy(name) : Result<StudyInfo>(NotFound(""));
  const auto source = study ? (*reader)->Source(study->id) : Result<std::string>(NotFound(""));
  if (!source) return;
  std::error_code error;
  int looked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(study->folder, error)) {
    const std::string path = entry.path().string();
    if (!IsStudyFile(path) || !entry.is_regular_file(error) || entry.file_size(error) > kLargest)
      continue;
    if (++looked > kMostFiles) return;
    const auto text = ReadConfigText(path, "a study file");
    const auto spec = text ? ReadStudy(*text, path, entry.path().stem().string())
                           : Result<StudySpec>(NotFound(""));
    if (!spec || spec->name != name || *text == *source) continue;
    const auto difference = CompareSources(*source, *text, path);
    if (!difference || difference->empty()) continue;
    Remark(fmt::format("{} was edited since ({}): 'sluice resume {}' looks at it", path,
                       Join(difference->free.empty() ? difference->fixed : difference->free),
                       path));
  }
}

Result<int> ResumeAction(const Context& context, const ResumeOptions& options) {
  ResumeRequest request{.paths = context.paths,
                        .study = options.study,
                        .trials = options.trials,
                        .deadline = std::nullopt,
                        .file = std::nullopt};
  if (IsStudyFile(options.study)) {
    SLUICE_ASSIGN(StudyFile file, ReadStudyFile(options.study));
    request.study = file.spec.name;
    request.file = {options.study, std::move(file.source), std::move(file.spec)};
  } else if (!options.quiet) {
    TellOfEdits(context, options.study);
  }
  if (options.deadline) {
    SLUICE_ASSIGN(request.deadline, ReadDeadline(*options.deadline));
  }
  return ShowRun(context, request.study, {options.quiet, options.plain, options.detach},
                 [&request](const Say& say) { return Resume(request, say); });
}

}  // namespace

Verb ResumeVerb() { return MakeVerb(kResumeHelp, ResumeFlags, ResumeAction); }

}  // namespace sluice
