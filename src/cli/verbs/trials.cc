#include <algorithm>
#include <cmath>

#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/trial_table.h"
#include "cli/verbs/verb.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

constexpr std::string_view kTrialsHelp =
    R"(usage: sluice trials [NAME] [--state STATE] [--sort id|value] [--limit N]

Prints the trials of a study as a table. The column with the name of the objective has the result of
each trial: its best value, or its last value if the study says so. A table that is too wide for the
terminal is cut; a table that is written to a file or a pipe is not.

  --state STATE  only trials that are waiting, running, paused, complete, stopped or failed
  --sort ORDER   id (in the order they were made) or value (best first)
  --limit N      at most N trials
  --store FILE   where studies are kept
  --json         as a JSON array
  -h, --help     print this

examples:
  sluice trials
  sluice trials fashion --sort value --limit 10
  sluice trials --state failed
  sluice trials --json | jq '.[].params.lr'
)";

enum class TrialOrder { kId, kValue };

struct TrialsOptions {
  std::optional<std::string> study;
  std::optional<TrialState> state;
  TrialOrder order = TrialOrder::kId;
  std::optional<int> limit;
};

void TrialsFlags(Flags& flags, TrialsOptions& options) {
  flags.Text("NAME", options.study);
  flags.Choice("--state", {kTrialStateNames.begin(), kTrialStateNames.end()}, options.state);
  flags.Choice("--sort", {"id", "value"}, options.order);
  flags.Count("--limit", options.limit);
}

// Best first. Trials without a value come last and keep their order.
void SortByValue(std::vector<TrialInfo>& trials, bool maximize) {
  std::ranges::stable_sort(trials, [&](const TrialInfo& a, const TrialInfo& b) {
    if (std::isnan(a.result) || std::isnan(b.result))
      return !std::isnan(a.result) && std::isnan(b.result);
    return maximize ? a.result > b.result : a.result < b.result;
  });
}

Result<int> TrialsAction(const Context& context, const TrialsOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_ASSIGN(std::vector<TrialInfo> trials, reader->Trials(study.id, options.state));
  if (options.order == TrialOrder::kValue) SortByValue(trials, study.maximize);
  if (options.limit && trials.size() > static_cast<std::size_t>(*options.limit)) {
    trials.resize(static_cast<std::size_t>(*options.limit));
  }
  const Time now = WallNow();
  if (context.json) {
    std::string separator = "[";
    for (const TrialInfo& trial : trials) {
      Print(separator + TrialJson(trial, now));
      separator = ",\n";
    }
    PrintLine(trials.empty() ? "[]" : "]");
  } else if (trials.empty()) {
    Remark(options.state ? std::string("no trial of '") + study.name + "' is " +
                               std::string(Name(*options.state))
                         : std::string("'") + study.name + "' has no trial yet");
  } else {
    Print(TrialTable(study, trials, context.terminal, now));
  }
  return kExitOk;
}

}  // namespace

Verb TrialsVerb() { return MakeVerb(kTrialsHelp, TrialsFlags, TrialsAction); }

}  // namespace sluice
