#include <fmt/format.h>

#include <filesystem>

#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "engine/study.h"
#include "exec/launch_folder.h"
#include "exec/session/link.h"
#include "exec/wall_clock.h"
#include "ledger/optuna/optuna_import.h"
#include "ledger/optuna/optuna_reader.h"

namespace sluice {
namespace {

constexpr std::string_view kImportHelp =
    R"(usage: sluice import FILE [--study NAME] [--name NAME]

Copies a study of Optuna into the store, with its trials, values and intermediate values. The copy
is a finished study that status, trials, best and export show. FILE is an SQLite file of Optuna 3.2
to 5, and is not changed. The copy has no program, so it cannot be resumed. To begin a new study
from it, write 'warm_start: {optuna: FILE}' in the file of the new study.

  --study NAME  the name of the study in FILE; not needed if FILE has only one study
  --name NAME   the name of the study here; by default its name in FILE
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice import optuna.db
  sluice import optuna.db --study resnet --name resnet-2024
  sluice import optuna.db && sluice best
)";

struct ImportOptions {
  std::string file;                  // an Optuna storage
  std::optional<std::string> study;  // its name in the file; not given: the file has only one study
  std::optional<std::string> name;   // its name in the store; not given: its name in the file
};

void ImportFlags(Flags& flags, ImportOptions& options) {
  flags.Required("FILE", options.file, "an Optuna storage, as in 'sluice import optuna.db'");
  flags.Text("--study", options.study);
  flags.Text("--name", options.name);
}

Status CheckName(const std::string& name) {
  const Status good = CheckStudyName(name);
  if (good) return {};
  return InvalidArgument(
      fmt::format("{}: choose what to call it here with --name", good.error().message));
}

void ShowImported(const ImportedStudy& imported, const std::string& file) {
  const StudyRow& row = imported.row;
  std::string counts;
  for (std::size_t state = 0; state < kTrialStates; ++state) {
    if (row.counts[state] == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", row.counts[state],
                          kTrialStateNames[state]);
  }
  PrintLine(
      fmt::format("{}: {} from {} ({})", row.name, Counted(row.trials, "trial"), file, counts));
  for (const auto& [there, here] : imported.renamed)
    PrintLine(fmt::format("  parameter '{}' is called '{}' here", there, here));
}

std::string ImportedJson(const ImportedStudy& imported, const std::string& file) {
  JsonWriter renamed;
  for (const auto& [there, here] : imported.renamed) renamed.Add(there, here);
  JsonWriter object;
  object.Add("study", imported.row.name).Add("file", file);
  object.Add("rows", static_cast<std::int64_t>(imported.row.trials));
  return object.AddJson("renamed", renamed.Take()).Take();
}

Result<int> ImportAction(const Context& context, const ImportOptions& options) {
  ImportRequest request;
  SLUICE_ASSIGN(request.study, ReadOptunaStudy(options.file, options.study));
  request.name = options.name.value_or(request.study.name);
  SLUICE_TRY(CheckName(request.name));
  request.folder = std::filesystem::absolute(options.file).parent_path().string();
  request.now = WallNow();
  SLUICE_ASSIGN(Pen pen, Pen::Take(context.paths, fmt::format("importing '{}'", request.name)));
  SLUICE_ASSIGN(const auto ledger, pen.OpenLedger(context.paths));
  SLUICE_ASSIGN(const ImportedStudy imported, ImportOptunaStudy(*ledger, request));
  SLUICE_TRY(MoveAside(context.paths.StudyFolder(request.name)));
  if (context.json) {
    PrintLine(ImportedJson(imported, options.file));
  } else {
    ShowImported(imported, options.file);
  }
  return kExitOk;
}

}  // namespace

Verb ImportVerb() { return MakeVerb(kImportHelp, ImportFlags, ImportAction); }

}  // namespace sluice
