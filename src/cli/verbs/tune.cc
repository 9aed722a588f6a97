#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <ranges>
#include <sstream>

#include "base/text.h"
#include "cli/config_text.h"
#include "cli/places.h"
#include "cli/study_file.h"
#include "cli/text/describe.h"
#include "cli/text/display_text.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verbs.h"
#include "cli/view/views.h"
#include "cli/view/watch_study.h"
#include "engine/read/study_change.h"
#include "exec/session.h"

namespace sluice {
namespace {

std::string DescribeEnd(RunEnd end, const StudyInfo& study) {
  switch (end) {
    case RunEnd::kFinished: return "finished: " + study.ending;
    case RunEnd::kDrained: return "paused; what ran has saved and left";
    case RunEnd::kInterrupted: return "interrupted; what ran was killed";
    case RunEnd::kPaused: return "paused, since trials could not be started: " + study.pause;
  }
  return "";
}

// Whether a finished study has failed: all its trials failed, or failures ended it.
bool CameToNothing(const StudyInfo& study) {
  const bool all_failed = study.made() > 0 && study.count(TrialState::kFailed) == study.made();
  return study.finished && (all_failed || study.ending == Name(Finish::kFailures));
}

// The notes of failed trials, each once, with the first trial that has it.
std::string FailuresText(const std::vector<TrialInfo>& failed) {
  constexpr std::size_t kMost = 3;
  std::map<std::string, std::pair<TrialId, int>> said;  // by note: the first trial, and how many
  for (const TrialInfo& trial : failed)
    ++said.try_emplace(trial.note, trial.id, 0).first->second.second;
  std::vector<std::pair<std::string, std::pair<TrialId, int>>> notes(said.begin(), said.end());
  std::ranges::stable_sort(notes, std::greater{},
                           [](const auto& each) { return each.second.second; });
  std::string text;
  for (const auto& [note, who] : notes | std::views::take(kMost)) {
    const auto& [first, count] = who;
    const std::string others = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    text += fmt::format("trial {}{}: {}\n", Number(first), others, Harmless(FirstLine(note)));
    const std::size_t rest = note.find('\n');
    if (rest == std::string::npos) continue;
    std::istringstream lines(note.substr(rest + 1));
    for (std::string line; std::getline(lines, line);)
      text += fmt::format("    {}\n", Harmless(line));
  }
  return text;
}

void ShowEnd(const Context& context, const StudyInfo& study, RunEnd end, const TrialInfo* best,
             const std::vector<TrialInfo>& failed) {
  const Terminal& terminal = context.terminal;
  Print(fmt::format("\n{}: {} ({})\n", Inked(study.name, Ink::kBold, terminal),
                    DescribeEnd(end, study), DescribeCounts(study, terminal)));
  if (best != nullptr) {
    const std::string line = fmt::format("best: trial {}, {} {}", Number(best->id), study.metric,
                                         DescribeBestValue(study, *best));
    Print(Inked(line, Ink::kGreen, terminal) + "\n" + ParamLines(*best, "  "));
  } else if (end == RunEnd::kFinished && failed.empty()) {
    Print(
        fmt::format("no trial reported {}: 'sluice trials {}' and 'sluice logs 1 --study {} "
                    "--stderr' may say why\n",
                    study.metric, study.name, study.name));
  }
  if (!failed.empty())
    Print(fmt::format("\n{}\n{}", Inked("what failed trials said:", Ink::kRed, terminal),
                      FailuresText(failed)));
  std::string checkpoint;
  if (best != nullptr) checkpoint = CheckpointFolder(context.paths, study.name, best->id);
  if (!checkpoint.empty() && !HoldsFiles(checkpoint)) checkpoint.clear();
  Print("\n" + Labelled({{"store", context.paths.database},
                         {"files", context.paths.StudyFolder(study.name)},
                         {"checkpoint", checkpoint}},
                        terminal));
  if (end == RunEnd::kFinished && study.ending != Name(Finish::kFailures)) return;
  Print(fmt::format("\n'sluice resume {}' goes on with it.\n", study.name));
}

// Summarises a run from the store, which the controller has released.
Result<int> Summarize(const Context& context, const std::string& name, RunEnd end) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, reader->FindStudy(name));
  std::optional<TrialInfo> best;
  if (IsSet(study.best)) {
    SLUICE_ASSIGN(best, reader->FindTrial(study, study.best));
  }
  const TrialInfo* best_row = best ? &*best : nullptr;
  std::vector<TrialInfo> failed;
  if (CameToNothing(study)) {
    SLUICE_ASSIGN(failed, reader->Trials(study.id, TrialState::kFailed));
  }
  if (context.json) {
    PrintLine(StudyJson(study, StandingOf(study, {}), context.paths, WallNow(),
                        {.best = best_row, .event = "summary"}));
  } else {
    ShowEnd(context, study, end, best_row, failed);
  }
  switch (end) {
    case RunEnd::kFinished: return CameToNothing(study) ? kExitFailure : kExitOk;
    case RunEnd::kPaused: return kExitFailure;
    case RunEnd::kDrained:
    case RunEnd::kInterrupted: break;
  }
  return kExitInterrupted;
}

std::uint64_t DrawSeed() {
  std::random_device device;
  const std::uint64_t high = device();
  // As large as a study file can say, so that it can be written into one.
  return ((high << 32) | device()) >> 1;
}

Result<Time> ReadDeadline(const std::string& text) {
  const auto duration = ParseDuration(text);
  if (duration && *duration > Duration(0)) return WallNow() + *duration;
  if (const auto time = ParseTime(text)) return *time;
  return InvalidArgument(
      fmt::format("--deadline: expected a duration such as 20m, or a time with its zone such as "
                  "2026-01-31T18:00:00Z, found '{}'",
                  text));
}

// Removes an earlier study of this name if the user wants that (--replace). Otherwise fails if
// there is one, and says how the file differs.
Status MakeRoom(const Context& context, const TuneOptions& options, const StudyFile& file) {
  const auto reader = Reader::Open(context.paths.database);
  const auto earlier =
      reader ? (*reader)->FindStudy(file.spec.name) : Result<StudyInfo>(NotFound(""));
  if (!earlier) return {};  // also if the store cannot be read: the first write reports that
  if (options.replace) return DeleteStudy(context.paths, earlier->name);
  SLUICE_ASSIGN(const std::string source, (*reader)->Source(earlier->id));
  SLUICE_ASSIGN(const StudyDifference difference,
                CompareSources(source, file.source, options.file));
  const std::string there =
      fmt::format("a study '{}' is in {} already", earlier->name, context.paths.database);
  const std::string others = fmt::format(
      "'sluice tune {} --replace' removes it and begins anew, --name makes another", options.file);
  if (difference.empty()) {
    return FailedPrecondition(
        fmt::format("{}: go on with it by 'sluice resume {}'; {}", there, earlier->name, others));
  }
  const std::string advice =
      difference.fixed.empty()
          ? fmt::format("'sluice resume {}' goes on with these changes", options.file)
          : fmt::format("{} cannot change in it; 'sluice resume {}' goes on as it was",
                        Join(difference.fixed), earlier->name);
  return FailedPrecondition(fmt::format("{}, made of a file that was different:\n{}{}; {}", there,
                                        difference.text, advice, others));
}

// Tells the user of study files that were edited since the study was made: they are not read here.
void TellOfEdits(const Context& context, const std::string& name) {
  constexpr int kMostFiles = 50;
  constexpr std::uintmax_t kLargest = 1 << 20;
  const auto reader = Reader::Open(context.paths.database);
  const auto study = reader ? (*reader)->FindStudy(name) : Result<StudyInfo>(NotFound(""));
  const auto source = study ? (*reader)->Source(study->id) : Result<std::string>(NotFound(""));
  if (!source) return;
  std::error_code error;
  int looked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(study->folder, error)) {
    const std::string path = entry.path().string();
    if (!IsStudyFile(path) || !entry.is_regular_file(error) || entry.file_size(error) > kLargest)
      continue;
    if (++looked > kMostFiles) return;
    const auto text = ReadConfigText(path, "a study file");
    const auto spec = text ? ReadStudy(*text, path, entry.path().stem().string())
                           : Result<StudySpec>(NotFound(""));
    if (!spec || spec->name != name || *text == *source) continue;
    const auto difference = CompareSources(*source, *text, path);
    if (!difference || difference->empty()) continue;
    Remark(fmt::format("{} was edited since ({}): 'sluice resume {}' looks at it", path,
                       Join(difference->free.empty() ? difference->fixed : difference->free),
                       path));
  }
}

}  // namespace

Result<int> RunVerb(const Context& context, const TuneOptions& options) {
  SLUICE_ASSIGN(StudyFile file, ReadStudyFile(options.file));
  if (options.name) {
    if (const Status good = CheckStudyName(*options.name); !good) {
      return InvalidArgument("--name: " + good.error().message);
    }
    file.spec.name = *options.name;
  }
  if (const Status good = CheckHasEnd(file.spec, options.trials.has_value()); !good)
    return InvalidArgument(fmt::format("{}: {}", options.file, good.error().message));
  if (options.trials) file.spec.trials = *options.trials;
  if (const auto found = FindProgram(file.spec, file.folder); !found)
    return InvalidArgument(fmt::format("{}: {}", file.place, found.error().message));
  if (!options.quiet) {
    for (const auto& notes : {file.spec.notes, file.remarks}) {
      for (const std::string& note : notes) Remark(Placed(file, note));
    }
  }
  const std::string name = file.spec.name;
  SLUICE_TRY(MakeRoom(context, options, file));
  const std::uint64_t seed = options.seed     ? *options.seed
                             : file.spec.seed ? *file.spec.seed
                                              : DrawSeed();
  const TuneRequest request{.paths = context.paths,
                            .spec = std::move(file.spec),
                            .source = std::move(file.source),
                            .folder = std::move(file.folder),
                            .seed = seed};
  auto view = MakeView(ChooseViewMode(options.quiet, options.plain, context.json));
  SLUICE_ASSIGN(const RunEnd end, Tune(request, *view));
  view.reset();  // leaves the terminal to what follows
  return Summarize(context, name, end);
}

Result<int> RunVerb(const Context& context, const ResumeOptions& options) {
  ResumeRequest request{.paths = context.paths,
                        .study = options.study,
                        .trials = options.trials,
                        .deadline = std::nullopt,
                        .file = std::nullopt};
  if (IsStudyFile(options.study)) {
    SLUICE_ASSIGN(StudyFile file, ReadStudyFile(options.study));
    request.study = file.spec.name;
    request.file = {options.study, std::move(file.source), std::move(file.spec)};
  } else if (!options.quiet) {
    TellOfEdits(context, options.study);
  }
  if (options.deadline) {
    SLUICE_ASSIGN(request.deadline, ReadDeadline(*options.deadline));
  }
  auto view = MakeView(ChooseViewMode(options.quiet, options.plain, context.json));
  SLUICE_ASSIGN(const RunEnd end, Resume(request, *view));
  view.reset();  // leaves the terminal to what follows
  return Summarize(context, request.study, end);
}

Result<int> RunVerb(const Context& context, const WatchOptions& options) {
  std::string name;
  {
    SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
    SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
    name = study.name;
  }
  SLUICE_TRY(WatchStudy(context.paths, name,
                        ChooseViewMode(/*quiet=*/false, options.plain, context.json)));
  return kExitOk;
}

}  // namespace sluice
