#include "cli/verbs/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <sstream>

#include "base/text.h"
#include "cli/places.h"
#include "cli/text/describe.h"
#include "cli/text/display_text.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/view/look_on.h"
#include "cli/view/views.h"
#include "exec/wall_clock.h"
#include "ledger/reader.h"

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
  const bool in_vain =
      study.ending == Name(Finish::kFailures) || study.ending == Name(Finish::kNoLeader);
  return study.finished && (all_failed || in_vain);
}

// The most frequent notes of failed trials, each with the first trial that has it, and with the
// number of other trials that have it.
std::string FailuresText(const std::vector<TrialInfo>& failed) {
  constexpr std::size_t kMost = 3;
  std::map<std::string, std::pair<TrialId, int>> said;  // by note: the first trial, and how many
  for (const TrialInfo& trial : failed)
    ++said.try_emplace(trial.note, trial.id, 0).first->second.second;
  std::vector<std::pair<std::string, std::pair<TrialId, int>>> notes(said.begin(), said.end());
  std::ranges::stable_sort(notes, std::greater{},
                           [](const auto& each) { return each.second.second; });
  std::string text;
  for (const auto& [note, trials] : notes | std::views::take(kMost)) {
    const auto& [first, count] = trials;
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

Result<int> SummarizeRun(const Context& context, const std::string& name, RunEnd end) {
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

}  // namespace

Result<int> ShowRun(const Context& context, const std::string& study, const RunView& how,
                    const std::function<Result<Link>(const Say&)>& hand_over) {
  auto view = MakeView(ChooseViewMode(how.quiet, how.plain, context.json));
  SLUICE_ASSIGN(Link link, hand_over([&view](std::string_view line) { view->Say(line); }));
  if (how.detach) {
    view.reset();
    JsonWriter object;
    object.Add("study", study).Add("detached", true);
    PrintLine(context.json
                  ? object.Take()
                  : fmt::format("{0} runs: 'sluice watch {0}' shows it, 'sluice pause {0}' "
                                "pauses it",
                                study));
    return kExitOk;
  }
  SLUICE_ASSIGN(const RunEnd end, LookOn(context.paths, study, std::move(link), *view));
  view.reset();  // the view must be gone before the summary is printed
  return SummarizeRun(context, study, end);
}

}  // namespace sluice
