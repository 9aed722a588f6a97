#include <fmt/format.h>

#include <ranges>
#include <utility>

#include "base/text.h"
#include "cli/text/describe.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/table.h"
#include "cli/text/what_mattered.h"
#include "cli/verbs/verb.h"
#include "cli/view/progress.h"
#include "exec/session/leaders.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

constexpr std::string_view kStatusHelp =
    R"(usage: sluice status [NAME]

Shows the state of a study: how many trials are in each state, the best trial, the running trials
and, once 10 trials have finished, which parameters mattered most; and the other studies that run. A
study that has not finished is paused, or interrupted if the process that ran it has died: 'sluice
resume NAME' continues it.

  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice status
  sluice status fashion
  sluice status fashion --json | jq .best.value
)";

struct StatusOptions {
  std::optional<std::string> study;
};

void StatusFlags(Flags& flags, StatusOptions& options) { flags.Text("NAME", options.study); }

constexpr std::size_t kMostShown = 40;  // of the trials that run

struct Beside {
  StudyInfo study;
  StudyStanding standing;
};

struct Snapshot {
  StudyInfo study;
  StudyStanding standing;
  std::optional<TrialInfo> best;
  std::vector<TrialInfo> running;
  std::vector<Beside> beside;  // the other studies that run
  WhatMattered mattered;
  std::string waits_for;
};

Result<Snapshot> Look(const Context& context, const std::optional<std::string>& name) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  // The lock is looked at before the store is read. If the lock is free, the controller has ended
  // and has already recorded how.
  const LockHolder holder = FindLockHolder(context.paths);
  SLUICE_TRY(reader->Freeze());
  Snapshot snapshot;
  SLUICE_ASSIGN(snapshot.study, ChooseStudy(*reader, name));
  if (IsSet(snapshot.study.best)) {
    SLUICE_ASSIGN(snapshot.best, reader->FindTrial(snapshot.study, snapshot.study.best));
  }
  SLUICE_ASSIGN(snapshot.running, reader->Trials(snapshot.study.id, TrialState::kRunning));
  snapshot.mattered = LookWhatMattered(*reader, snapshot.study);
  snapshot.standing = StandingOf(snapshot.study, holder);
  SLUICE_ASSIGN(const std::string leader, LeaderOf(*reader, snapshot.study.id));
  snapshot.waits_for = WaitsFor(*reader, snapshot.study, leader);
  SLUICE_ASSIGN(const std::vector<StudyInfo> studies, reader->Studies());
  for (const StudyInfo& other : studies) {
    StudyStanding standing = StandingOf(other, holder);
    if (other.id != snapshot.study.id && !other.finished && standing.pid != 0)
      snapshot.beside.push_back({other, std::move(standing)});
  }
  return snapshot;
}

std::string DescribeTime(const Snapshot& at, Time now) {
  std::string text = FormatDuration(ElapsedOf(at.study, at.standing, now)) + " since " +
                     FormatTime(at.study.created);
  if (at.study.deadline == kNever) return text;
  const Duration left = at.study.deadline - now;
  return text + (left > Duration(0)
                     ? fmt::format(", deadline in {}", FormatDuration(left))
                     : fmt::format(", deadline was {}", FormatTime(at.study.deadline)));
}

// "digits 12/64, cifar 3/20 (ending: stopped)"
std::string DescribeBeside(const std::vector<Beside>& studies) {
  std::vector<std::string> texts;
  for (const auto& [study, standing] : studies) {
    const std::string ending =
        standing.why.empty() ? "" : fmt::format(" ({}: {})", Name(standing.state), standing.why);
    texts.push_back(
        fmt::format("{} {}/{}{}", study.name, TrialsDone(study.counts), study.trials, ending));
  }
  return Join(texts);
}

void AppendBeside(std::string& json, const Beside& other) {
  const auto& [study, standing] = other;
  JsonWriter object;
  object.Add("name", study.name).Add("state", Name(standing.state));
  object.AddOptional("reason", standing.why.empty() ? std::nullopt : std::optional(standing.why));
  object.Add("done", TrialsDone(study.counts)).Add("total", study.trials);
  json += object.Take();
}

std::string RunningTable(const Snapshot& at, const Terminal& terminal, Time now) {
  Table table({{"trial", Align::kRight},
               {at.study.unit, Align::kRight},
               {at.study.metric, Align::kRight},
               {"time", Align::kRight},
               {"params"}});
  for (const TrialInfo& trial : at.running | std::views::take(kMostShown)) {
    table.Add({{std::to_string(Number(trial.id))},
               {trial.target ? fmt::format("{}/{}", trial.work, *trial.target)
                             : std::to_string(trial.work)},
               {trial.reports > 0 ? FormatMetric(trial.value) : "-"},
               {FormatDuration(BusyOf(trial, now))},
               {FormatParams(ParamsFromJson(trial.params))}});
  }
  std::string text = table.Render(terminal);
  if (at.running.size() > kMostShown) {
    text += fmt::format("and {} more: 'sluice trials {} --state running' lists them\n",
                        at.running.size() - kMostShown, at.study.name);
  }
  return text;
}

void ShowStatus(const Context& context, const Snapshot& at, Time now) {
  const Terminal& terminal = context.terminal;
  const StudyInfo& study = at.study;
  const int percent =
      study.trials > 0 ? static_cast<int>(100LL * TrialsDone(study.counts) / study.trials) : 0;
  std::string best;
  if (at.best) {
    best = fmt::format("{} {} (trial {})", study.metric, DescribeBestValue(study, *at.best),
                       Number(at.best->id));
  }
  Print(Labelled(
      {{"study", Inked(study.name, Ink::kBold, terminal)},
       {"state", Inked(Describe(at.standing), InkOf(at.standing.state), terminal)},
       {"waits for", at.waits_for},
       {"progress",
        fmt::format("{}/{} trials ({}%)", TrialsDone(study.counts), study.trials, percent)},
       {"trials", DescribeCounts(study, terminal)},
       {"objective", fmt::format("{} {}", study.maximize ? "maximize" : "minimize", study.metric)},
       {"best", best.empty() ? "no result yet" : Inked(best, Ink::kGreen, terminal)},
       {"what mattered", DescribeMattered(at.mattered)},
       {"time", DescribeTime(at, now)},
       {"beside it", DescribeBeside(at.beside)},
       {"store", context.paths.database}},
      terminal));
  if (at.best)
    Print("\n" + Inked("parameters of the best", Ink::kDim, terminal) + "\n" +
          ParamLines(*at.best, "  "));
  if (!at.running.empty()) Print("\n" + RunningTable(at, terminal, now));
  const StudyState state = at.standing.state;
  if (state == StudyState::kInterrupted || state == StudyState::kPaused) {
    Print(fmt::format("\nNo process runs this study: 'sluice resume {}' goes on with it.\n",
                      study.name));
  }
}

Result<int> StatusAction(const Context& context, const StatusOptions& options) {
  SLUICE_ASSIGN(const Snapshot snapshot, Look(context, options.study));
  const Time now = WallNow();
  if (context.json) {
    PrintLine(StudyJson(snapshot.study, snapshot.standing, context.paths, now,
                        {.best = snapshot.best ? &*snapshot.best : nullptr,
                         .running = &snapshot.running,
                         .importance = MatteredJson(snapshot.mattered),
                         .beside = JsonList(snapshot.beside, AppendBeside)}));
  } else {
    ShowStatus(context, snapshot, now);
  }
  return kExitOk;
}

}  // namespace

Verb StatusVerb() { return MakeVerb(kStatusHelp, StatusFlags, StatusAction); }

}  // namespace sluice
