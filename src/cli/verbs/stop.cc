#include <fmt/format.h>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/session.h"

namespace sluice {
namespace {

constexpr std::string_view kStopHelp =
    R"(usage: sluice stop [NAME] [--trial N]

Ends a study for good: trials that run are stopped, no new ones are made, what was reported
stays. To pause a study instead, press Ctrl-C where it runs. With --trial it ends that trial
alone, and the study goes on.

  --trial N     end this trial alone
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice stop
  sluice stop fashion
  sluice stop fashion --trial 7           the others go on
  sluice resume fashion --trials 50       changed your mind
)";

struct StopOptions {
  std::optional<std::string> study;
  TrialId trial{};  // only this one; 0: all
};

void StopFlags(Flags& flags, StopOptions& options) {
  flags.Text("NAME", options.study);
  flags.TrialNumber("--trial", options.trial);
}

Result<int> StopAction(const Context& context, const StopOptions& options) {
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(context.paths, options.study));
  JsonWriter object;
  object.Add("study", study.name);
  if (IsSet(options.trial)) {
    const auto trial = static_cast<std::int64_t>(Number(options.trial));
    SLUICE_TRY(StopTrial(context.paths, study.name, options.trial));
    PrintLine(context.json ? object.Add("trial", trial).Add("stopped", true).Take()
                           : fmt::format("trial {} of {} is stopped; what it reported stays", trial,
                                         study.name));
    return kExitOk;
  }
  if (study.finished) {
    PrintLine(context.json ? object.Add("stopped", false).Add("reason", study.ending).Take()
                           : fmt::format("{} has finished already: {}", study.name, study.ending));
    return kExitOk;
  }
  SLUICE_TRY(StopStudy(context.paths, study.name));
  PrintLine(context.json ? object.Add("stopped", true).Take()
                         : fmt::format("{0} is stopped; what was reported stays: 'sluice best {0}' "
                                       "shows the best trial",
                                       study.name));
  return kExitOk;
}

}  // namespace

Verb StopVerb() { return MakeVerb(kStopHelp, StopFlags, StopAction); }

}  // namespace sluice
