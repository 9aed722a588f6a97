#include "cli/study_state.h"
#include "cli/verbs/verb.h"
#include "cli/view/studies/watch_studies.h"
#include "cli/view/views.h"
#include "cli/view/watch_study.h"

namespace sluice {
namespace {

constexpr std::string_view kWatchHelp =
    R"(usage: sluice watch [NAME | --all] [--plain]

Shows a live view of a study that runs. Ctrl-C ends the view, not the study. With --all: shows all
studies that run, and those that come meanwhile, until none runs any more.

  --all         all studies, a line for each
  --plain       a line now and then instead of a live view
  --store FILE  where studies are kept
  --json        one JSON object per line, at most one per second for each study
  -h, --help    print this

examples:
  sluice watch
  sluice watch fashion
  sluice watch --all
  sluice watch fashion --plain | tee watch.log
)";

struct WatchOptions {
  std::optional<std::string> study;
  bool all = false;
  bool plain = false;
};

void WatchFlags(Flags& flags, WatchOptions& options) {
  flags.Text("NAME", options.study);
  flags.Switch("--all", options.all);
  flags.Switch("--plain", options.plain);
  flags.Check([&flags, &options]() -> Status {
    if (!options.study || !options.all) return {};
    return flags.Expected("the name of a study or --all, not both");
  });
}

Result<int> WatchAction(const Context& context, const WatchOptions& options) {
  const ViewMode mode = ChooseViewMode(/*quiet=*/false, options.plain, context.json);
  if (options.all) {
    SLUICE_TRY(WatchStudies(context.paths, mode));
    return kExitOk;
  }
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(context.paths, options.study));
  SLUICE_TRY(WatchStudy(context.paths, study.name, mode));
  return kExitOk;
}

}  // namespace

Verb WatchVerb() { return MakeVerb(kWatchHelp, WatchFlags, WatchAction); }

}  // namespace sluice
