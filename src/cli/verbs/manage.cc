#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verbs.h"
#include "exec/session.h"

namespace sluice {
namespace {

Result<StudyInfo> FindToManage(const Context& context, const std::optional<std::string>& name) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  return ChooseStudy(*reader, name);
}

void Tell(const Context& context, const JsonWriter& object, const std::string& line) {
  PrintLine(context.json ? JsonWriter(object).Take() : line);
}

long long BytesIn(const std::string& folder) {
  long long bytes = 0;
  std::error_code error;
  for (auto it = std::filesystem::recursive_directory_iterator(folder, error);
       !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code unreadable;
    if (it->is_regular_file(unreadable)) bytes += static_cast<long long>(it->file_size(unreadable));
  }
  return bytes;
}

bool Confirmed(const Context& context, const StudyInfo& study) {
  const std::string question = fmt::format(
      "Delete study '{}' with {} and {} of files? [y/N] ", study.name,
      Counted(study.made(), "trial"), FormatBytes(BytesIn(context.paths.StudyFolder(study.name))));
  std::fputs(question.c_str(), stderr);
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

}  // namespace

Result<int> RunVerb(const Context& context, const StopOptions& options) {
  SLUICE_ASSIGN(const StudyInfo study, FindToManage(context, options.study));
  JsonWriter object;
  object.Add("study", study.name);
  if (IsSet(options.trial)) {
    SLUICE_TRY(StopTrial(context.paths, study.name, options.trial));
    Tell(context,
         object.Add("trial", static_cast<std::int64_t>(Number(options.trial))).Add("stopped", true),
         fmt::format("trial {} of {} is stopped; what it reported stays", Number(options.trial),
                     study.name));
    return kExitOk;
  }
  if (study.finished) {
    Tell(context, object.Add("stopped", false).Add("reason", study.ending),
         fmt::format("{} has finished already: {}", study.name, study.ending));
    return kExitOk;
  }
  SLUICE_TRY(StopStudy(context.paths, study.name));
  Tell(
      context, object.Add("stopped", true),
      fmt::format("{0} is stopped; what was reported stays: 'sluice best {0}' shows the best trial",
                  study.name));
  return kExitOk;
}

Result<int> RunVerb(const Context& context, const RetryOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_TRY(reader->FindTrial(study, options.trial));
  const StudyStanding standing = StandingOf(study, FindLockHolder(context.paths));
  SLUICE_TRY(RetryTrial(context.paths, study.name, options.trial));
  const bool at_once = standing.pid != 0;
  JsonWriter object;
  object.Add("study", study.name).Add("trial", static_cast<std::int64_t>(Number(options.trial)));
  Tell(context, object.Add("at_once", at_once),
       at_once
           ? fmt::format("trial {} of {} runs again when there is room", Number(options.trial),
                         study.name)
           : fmt::format("trial {0} of {1} runs again when the study is resumed: sluice resume {1}",
                         Number(options.trial), study.name));
  return kExitOk;
}

Result<int> RunVerb(const Context& context, const DeleteOptions& options) {
  SLUICE_ASSIGN(const StudyInfo study, FindToManage(context, options.study));
  if (!options.yes) {
    if (context.json || isatty(STDIN_FILENO) == 0) {
      return InvalidArgument(
          fmt::format("delete: nobody to ask: add --yes to delete study '{}'", study.name));
    }
    if (!Confirmed(context, study)) {
      PrintLine("nothing was deleted");
      return kExitFailure;
    }
  }
  SLUICE_TRY(DeleteStudy(context.paths, study.name));
  JsonWriter object;
  Tell(context, object.Add("study", study.name).Add("deleted", true),
       fmt::format("{} is deleted", study.name));
  return kExitOk;
}

}  // namespace sluice
