#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/session/session.h"

namespace sluice {
namespace {

constexpr std::string_view kDeleteHelp =
    R"(usage: sluice delete NAME [--yes]

Removes a study with its trials, reports, checkpoints and output. Trials that run are killed. Asks
first.

  -y, --yes     do not ask
  --store FILE  where studies are kept
  --json        as a JSON object; needs --yes
  -h, --help    print this

examples:
  sluice delete fashion
  sluice delete fashion --yes
)";

struct DeleteOptions {
  std::string study;
  bool yes = false;
};

void DeleteFlags(Flags& flags, DeleteOptions& options) {
  flags.Required("NAME", options.study, "the name of a study");
  flags.Switch("-y,--yes", options.yes);
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

Result<int> DeleteAction(const Context& context, const DeleteOptions& options) {
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(context.paths, options.study));
  if (!options.yes) {
    if (context.json || isatty(STDIN_FILENO) == 0) {
      return InvalidArgument(
          fmt::format("delete: cannot ask with --json or without a terminal: add --yes to delete "
                      "study '{}'",
                      study.name));
    }
    if (!Confirmed(context, study)) {
      PrintLine("nothing was deleted");
      return kExitFailure;
    }
  }
  SLUICE_TRY(DeleteStudy(context.paths, study.name));
  JsonWriter object;
  PrintLine(context.json ? object.Add("study", study.name).Add("deleted", true).Take()
                         : fmt::format("{} is deleted", study.name));
  return kExitOk;
}

}  // namespace

Verb DeleteVerb() { return MakeVerb(kDeleteHelp, DeleteFlags, DeleteAction); }

}  // namespace sluice
