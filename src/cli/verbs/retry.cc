#include <fmt/format.h>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/session/session.h"

namespace sluice {
namespace {

constexpr std::string_view kRetryHelp =
    R"(usage: sluice retry TRIAL [--study NAME]

Runs a failed or stopped trial again, with the same parameters, and from its checkpoint if it has
one. If the study runs, the trial starts when there is room; else when the study is resumed.

  --study NAME  the study of the trial
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice retry 7
  sluice retry 7 --study fashion && sluice resume fashion
)";

struct RetryOptions {
  TrialId trial{};
  std::optional<std::string> study;
};

void RetryFlags(Flags& flags, RetryOptions& options) {
  flags.TrialNumber("TRIAL", options.trial);
  flags.Text("--study", options.study);
}

Result<int> RetryAction(const Context& context, const RetryOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_TRY(reader->FindTrial(study, options.trial));
  SLUICE_ASSIGN(const bool at_once, RetryTrial(context.paths, study.name, options.trial));
  const auto trial = static_cast<std::int64_t>(Number(options.trial));
  JsonWriter object;
  object.Add("study", study.name).Add("trial", trial).Add("at_once", at_once);
  PrintLine(context.json ? object.Take()
            : at_once
                ? fmt::format("trial {} of {} runs again when there is room", trial, study.name)
                : fmt::format("trial {0} of {1} runs again when the study is resumed: sluice "
                              "resume {1}",
                              trial, study.name));
  return kExitOk;
}

}  // namespace

Verb RetryVerb() { return MakeVerb(kRetryHelp, RetryFlags, RetryAction); }

}  // namespace sluice
