#include "cli/study_state.h"
#include "cli/verbs/verb.h"
#include "cli/view/views.h"
#include "cli/view/watch_study.h"

namespace sluice {
namespace {

constexpr std::string_view kWatchHelp =
    R"(usage: sluice watch [NAME] [--plain]

Shows a live view of a study that runs. Ctrl-C ends the view, not the study.

  --plain       a line now and then instead of a live view
  --store FILE  where studies are kept
  --json        one JSON object per line, at most one per second
  -h, --help    print this

examples:
  sluice watch
  sluice watch fashion
  sluice watch fashion --plain | tee watch.log
)";

struct WatchOptions {
  std::optional<std::string> study;
  bool plain = false;
};

void WatchFlags(Flags& flags, WatchOptions& options) {
  flags.Text("NAME", options.study);
  flags.Switch("--plain", options.plain);
}

Result<int> WatchAction(const Context& context, const WatchOptions& options) {
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(context.paths, options.study));
  SLUICE_TRY(WatchStudy(context.paths, study.name,
                        ChooseViewMode(/*quiet=*/false, options.plain, context.json)));
  return kExitOk;
}

}  // namespace

Verb WatchVerb() { return MakeVerb(kWatchHelp, WatchFlags, WatchAction); }

}  // namespace sluice
