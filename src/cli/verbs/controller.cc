#include "cli/verbs/verb.h"
#include "exec/controller/run_controller.h"
#include "exec/version.h"

namespace sluice {
namespace {

constexpr std::string_view kControllerHelp =
    R"(usage: sluice controller [--log FILE]

Runs the studies of a store: starts their trials, hears what they report, and writes it down. A
store has one controller. The commands that need it start it by themselves, and it ends when nothing
is left to do, so there is rarely a reason to start one by hand. It goes on with studies whose
controller has died. After SIGTERM, running trials save and leave, and all studies are paused; a
second SIGTERM kills what still runs.

  --log FILE    what goes wrong later is written here instead of to standard error
  --store FILE  where studies are kept
  --json        has no effect: it prints "ready" once it answers
  -h, --help    print this

examples:
  sluice controller
  sluice controller --store /data/team.db --log /var/log/sluice.log
)";

struct ControllerOptions {
  std::optional<std::string> log;
};

void ControllerFlags(Flags& flags, ControllerOptions& options) { flags.Text("--log", options.log); }

Result<int> ControllerAction(const Context& context, const ControllerOptions& options) {
  SLUICE_TRY(RunController(context.paths, kVersion, options.log.value_or("")));
  return kExitOk;
}

}  // namespace

Verb ControllerVerb() { return MakeVerb(kControllerHelp, ControllerFlags, ControllerAction); }

}  // namespace sluice
