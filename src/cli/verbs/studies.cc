#include <fmt/format.h>

#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/table.h"
#include "cli/verbs/verbs.h"
#include "cli/view/progress.h"
#include "exec/session.h"

namespace sluice {
namespace {

std::string Ago(Time then, Time now) {
  return now - then < Duration(0) ? "now" : FormatDuration(now - then) + " ago";
}

}  // namespace

Result<int> RunVerb(const Context& context, const StudiesOptions&) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  // Looked up before the store is read: a controller that has left by now has recorded how it left.
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

}  // namespace sluice
