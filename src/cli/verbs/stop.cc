#include <fmt/format.h>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/session/session.h"

namespace sluice {
namespace {

constexpr std::string_view kStopHelp =
    R"(usage: sluice stop [NAME] [--trial N]

Ends a study for good: running trials are stopped, no new trials are made, and what was reported
is kept. To pause a study instead, use 'sluice pause'. With --trial, ends only that trial,
and the study continues.

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
  TrialId trial{};  // the trial to end; 0: end the study
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
