#include <fmt/format.h>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/session/session.h"

namespace sluice {
namespace {

constexpr std::string_view kPauseHelp =
    R"(usage: sluice pause [NAME] [--kill]

Pauses a study, as Ctrl-C does where it is watched by 'sluice tune': no new trials are started, and
running trials save and leave. 'sluice resume NAME' goes on with it.

  --kill        kill running trials; they go on from their last checkpoints
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice pause
  sluice pause fashion
  sluice pause fashion --kill
)";

struct PauseOptions {
  std::optional<std::string> study;
  bool kill = false;
};

void PauseFlags(Flags& flags, PauseOptions& options) {
  flags.Text("NAME", options.study);
  flags.Switch("--kill", options.kill);
}

Result<int> PauseAction(const Context& context, const PauseOptions& options) {
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(context.paths, options.study));
  SLUICE_TRY(PauseStudy(context.paths, study.name, options.kill));
  JsonWriter object;
  object.Add("study", study.name).Add("paused", true);
  PrintLine(context.json
                ? object.Take()
                : fmt::format("{0} pauses: 'sluice resume {0}' goes on with it", study.name));
  return kExitOk;
}

}  // namespace

Verb PauseVerb() { return MakeVerb(kPauseHelp, PauseFlags, PauseAction); }

}  // namespace sluice
