#include <fmt/format.h>

#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/table.h"
#include "cli/verbs/verb.h"
#include "cli/view/progress.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

constexpr std::string_view kStudiesHelp =
    R"(usage: sluice studies

Lists every study in the store: its state, how many trials are done, the best value, and when the
study last changed.

  --store FILE  where studies are kept
  --json        as a JSON array
  -h, --help    print this

examples:
  sluice studies
  sluice studies --store /data/team.db
  sluice studies --json | jq -r '.[] | select(.state == "interrupted") | .name'
)";

struct StudiesOptions {};

void StudiesFlags(Flags&, StudiesOptions&) {}

std::string Ago(Time then, Time now) {
  return now - then < Duration(0) ? "now" : FormatDuration(now - then) + " ago";
}

Result<int> StudiesAction(const Context& context, const StudiesOptions&) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  // The lock is looked at before the store is read. If the lock is free, the controller has ended
  // and has already recorded how.
  const LockHolder holder = FindLockHolder(context.paths);
  SLUICE_ASSIGN(const std::vector<StudyInfo> studies, reader->Studies());
  const Time now = WallNow();
  std::vector<std::string> items;
  Table table({{"study"},
               {"state"},
               {"trials", Align::kRight},
               {"best", Align::kRight},
               {"objective"},
               {"changed"}});
  for (const StudyInfo& study : studies) {
    const StudyStanding standing = StandingOf(study, holder);
    std::optional<TrialInfo> best;
    if (IsSet(study.best)) {
      SLUICE_ASSIGN(best, reader->FindTrial(study, study.best));
    }
    if (context.json) {
      items.push_back(
          StudyJson(study, standing, context.paths, now, {.best = best ? &*best : nullptr}));
      continue;
    }
    table.Add({{study.name, Ink::kBold},
               {Describe(standing), InkOf(standing.state)},
               {fmt::format("{}/{}", TrialsDone(study.counts), study.trials)},
               {best ? FormatMetric(best->result) : "-"},
               {fmt::format("{} {}", study.maximize ? "max" : "min", study.metric)},
               {Ago(study.updated, now)}});
  }
  if (context.json) {
    PrintLine(JsonArray(items));
  } else if (studies.empty()) {
    PrintLine("no study yet: run 'sluice tune study.yaml'");
  } else {
    Print(table.Render(context.terminal));
  }
  return kExitOk;
}

}  // namespace

Verb StudiesVerb() { return MakeVerb(kStudiesHelp, StudiesFlags, StudiesAction); }

}  // namespace sluice
