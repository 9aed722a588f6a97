#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/verbs/verb.h"
#include "exec/by_hand.h"

namespace sluice {
namespace {

constexpr std::string_view kRunHelp =
    R"(usage: sluice run [NAME] [--best | --trial N]

Runs the program of a study once more in this terminal, with the parameters and the seed of the
study's best trial. The program runs in the study's folder, with the study's environment, and
without a checkpoint. What it reports is printed, but does not become part of the study. {budget} is
the work that the trial has done, and {checkpoint} is a new folder. The exit status is that of the
program.

  --best        run the best trial; this is the default
  --trial N     run trial N
  --store FILE  where studies are kept
  --json        has no effect: the output is that of the program
  -h, --help    print this

examples:
  sluice run
  sluice run fashion --best
  sluice run fashion --trial 7
)";

struct RunOptions {
  std::optional<std::string> study;
  bool best = false;  // has no effect: the best trial is the default
  TrialId trial{};    // 0: the best trial
};

void RunFlags(Flags& flags, RunOptions& options) {
  flags.Text("NAME", options.study);
  flags.Switch("--best", options.best);
  flags.Check([&flags, &options]() -> Status {
    if (options.best && flags.Given("--trial"))
      return InvalidArgument("run: expected either --best or --trial, found both");
    return {};
  });
  flags.TrialNumber("--trial", options.trial);
}

Result<TrialInfo> ChooseTrial(Reader& reader, const StudyInfo& study, TrialId wanted) {
  const TrialId trial = IsSet(wanted) ? wanted : study.best;
  if (!IsSet(trial)) {
    return FailedPrecondition(
        fmt::format("no trial of '{}' has reported {} yet: 'sluice run {} --trial N' runs the "
                    "parameters of another",
                    study.name, study.metric, study.name));
  }
  return reader.FindTrial(study, trial);
}

Result<std::string> MakeScratch() {
  std::error_code error;
  const auto root = std::filesystem::temp_directory_path(error);
  std::string scratch = (error ? "/tmp" : root.string()) + "/sluice-run-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr)
    return FailedPrecondition(fmt::format("{}: {}", scratch, std::strerror(errno)));
  return scratch;
}

Result<int> RunAction(const Context& context, const RunOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_ASSIGN(const TrialInfo trial, ChooseTrial(*reader, study, options.trial));
  SLUICE_ASSIGN(const std::string scratch, MakeScratch());
  Remark(fmt::format("trial {} of {} by hand; its parameters, and what it saves, are in {}",
                     Number(trial.id), study.name, scratch));
  std::fflush(nullptr);
  return std::unexpected(BecomeProgramOf(*reader, study, trial, scratch).error());
}

}  // namespace

Verb RunVerb() { return MakeVerb(kRunHelp, RunFlags, RunAction); }

}  // namespace sluice
