#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/verbs/verbs.h"
#include "exec/by_hand.h"
#include "exec/session.h"

namespace sluice {
namespace {

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

}  // namespace

Result<int> RunVerb(const Context& context, const RunOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_ASSIGN(const TrialInfo trial, ChooseTrial(*reader, study, options.trial));
  SLUICE_ASSIGN(const std::string scratch, MakeScratch());
  Remark(fmt::format("trial {} of {} by hand; its parameters, and what it saves, are in {}",
                     Number(trial.id), study.name, scratch));
  std::fflush(nullptr);
  return std::unexpected(BecomeProgramOf(*reader, study, trial, scratch).error());
}

}  // namespace sluice
