#include <fmt/format.h>

#include <filesystem>

#include "cli/places.h"
#include "cli/rerun.h"
#include "cli/text/describe.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/trial_table.h"
#include "cli/text/what_mattered.h"
#include "cli/verbs/verb.h"
#include "exec/checkpoint_folder.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

constexpr std::string_view kBestHelp =
    R"(usage: sluice best [NAME] [--top N]

Shows the best trial of a study: its best value and the work at which the trial reported it, its
parameters, the command that runs it again, and the places of its checkpoint and output. The command
is 'sluice run' unless the program gets all its parameters as arguments. A study without a program
has none. Once 10 trials have finished, also shows what mattered in the study: how much of the
differences between trials each parameter explains, and which values the best tenth of the trials
have.

  --top N       the best N as a table
  --store FILE  where studies are kept
  --json        as a JSON object; with --top as an array
  -h, --help    print this

examples:
  sluice best
  sluice best fashion --top 5
  sluice best --json | jq .params > best.json
  sluice best --json | jq .importance
)";

struct BestOptions {
  std::optional<std::string> study;
  int top = 1;
};

void BestFlags(Flags& flags, BestOptions& options) {
  flags.Text("NAME", options.study);
  flags.Count("--top", options.top);
}

// What 'sluice best' finds out about a trial beyond its row in the store.
struct Found {
  std::optional<std::string> command;  // the program's own, if it gets all parameters as arguments
  // 'sluice run', which always passes all parameters; empty if the study has no program
  std::string by_hand = {};
  std::optional<std::string> checkpoint;
  std::optional<std::string> best_checkpoint;  // of its best report, if kept beside `checkpoint`
  std::optional<std::string> output;
  WhatMattered mattered;  // in the whole study, not in this trial
};

// The 'sluice run' command that runs a trial's parameters again, with this store.
std::string RunAgain(const StorePaths& paths, const StudyInfo& study, const TrialInfo& trial) {
  const auto usual = FindStore(std::nullopt);
  const bool is_usual = usual && usual->database == paths.database;
  return fmt::format("sluice run {} --trial {}{}", study.name, Number(trial.id),
                     is_usual ? "" : fmt::format(" --store {}", ShellQuoted(paths.database)));
}

Found LookAround(Reader& reader, const StorePaths& paths, const StudyInfo& study,
                 const TrialInfo& trial) {
  Found found;
  found.command = RerunCommand(reader, study, trial);
  if (HasProgramToRun(reader, study)) found.by_hand = RunAgain(paths, study, trial);
  const std::string checkpoint = CheckpointFolder(paths, study.name, trial.id);
  if (HoldsFiles(checkpoint)) found.checkpoint = checkpoint;
  found.best_checkpoint = KeptCheckpoint(checkpoint, trial.result_work);
  const std::string output =
      OutputFile(paths, study.name, trial.id, trial.launch, /*standard_error=*/false);
  std::error_code error;
  if (std::filesystem::exists(output, error)) found.output = output;
  found.mattered = LookWhatMattered(reader, study);
  return found;
}

std::string BestTrialJson(const StudyInfo& study, const TrialInfo& trial, const Found& found,
                          Time now) {
  JsonWriter object;
  object.Add("study", study.name).Add("metric", study.metric);
  object.Add("direction", study.maximize ? "maximize" : "minimize").Add("unit", study.unit);
  const std::string command = found.command.value_or(found.by_hand);
  object.AddOptional("command", command.empty() ? std::nullopt : std::optional(command))
      .AddOptional("checkpoint", found.checkpoint);
  object.AddOptional("best_checkpoint", found.best_checkpoint);
  object.AddOptional("output", found.output).AddJson("importance", MatteredJson(found.mattered));
  // The members of the trial follow in the same object.
  std::string text = object.Take();
  text.back() = ',';
  return text + TrialJson(trial, now).substr(1);
}

void ShowBest(const Terminal& terminal, const StudyInfo& study, const TrialInfo& trial,
              const Found& found) {
  std::string last;
  if (trial.work != trial.result_work)
    last = fmt::format(" (last: {} at {})", FullNumber(trial.value), trial.work);
  const std::string state = Inked(Name(trial.state), InkOf(trial.state), terminal);
  Print(Labelled(
      {{"study", study.name},
       {"trial", fmt::format("{} ({})", Number(trial.id), state)},
       {study.metric, Inked(DescribeBestValue(study, trial), Ink::kGreen, terminal) + last}},
      terminal));
  Print("\n" + Inked("params:", Ink::kDim, terminal) + "\n" + ParamLines(trial, "  "));
  const std::string mattered = MatteredLines(found.mattered, terminal, "  ");
  if (!mattered.empty())
    Print("\n" + Inked("what mattered:", Ink::kDim, terminal) + "\n" + mattered);
  const std::string command =
      found.command ? fmt::format("cd {} && {}", ShellQuoted(study.folder), *found.command)
                    : found.by_hand;
  if (!command.empty())
    Print(fmt::format("\n{}\n  {}\n", Inked("run it again:", Ink::kDim, terminal), command));
  const std::string files = Labelled({{"checkpoint", found.checkpoint.value_or("")},
                                      {"of its best", found.best_checkpoint.value_or("")},
                                      {"output", found.output.value_or("")}},
                                     terminal);
  if (!files.empty()) Print("\n" + files);
}

Result<int> BestAction(const Context& context, const BestOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  const bool one = options.top == 1;
  std::vector<TrialInfo> trials;
  if (one && IsSet(study.best)) {
    SLUICE_ASSIGN(TrialInfo best, reader->FindTrial(study, study.best));
    trials.push_back(std::move(best));
  } else if (!one) {
    SLUICE_ASSIGN(trials, reader->Best(study, options.top));
  }
  if (trials.empty()) {
    return FailedPrecondition(
        fmt::format("no trial of '{}' has reported {} yet: 'sluice status {}' shows how it stands",
                    study.name, study.metric, study.name));
  }
  const Time now = WallNow();
  if (one) {
    const Found found = LookAround(*reader, context.paths, study, trials.front());
    if (context.json) {
      PrintLine(BestTrialJson(study, trials.front(), found, now));
    } else {
      ShowBest(context.terminal, study, trials.front(), found);
    }
    return kExitOk;
  }
  if (!context.json) {
    Print(TrialTable(study, trials, context.terminal, now));
    return kExitOk;
  }
  std::vector<std::string> items;
  for (const TrialInfo& trial : trials) items.push_back(TrialJson(trial, now));
  PrintLine(JsonArray(items));
  return kExitOk;
}

}  // namespace

Verb BestVerb() { return MakeVerb(kBestHelp, BestFlags, BestAction); }

}  // namespace sluice
