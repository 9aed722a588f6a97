#include <algorithm>
#include <cmath>

#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/trial_table.h"
#include "cli/verbs/verbs.h"
#include "exec/session.h"

namespace sluice {
namespace {

// Best first; those without a value last, as they were made.
void SortByValue(std::vector<TrialInfo>& trials, bool maximize) {
  std::ranges::stable_sort(trials, [&](const TrialInfo& a, const TrialInfo& b) {
    if (std::isnan(a.result) || std::isnan(b.result))
      return !std::isnan(a.result) && std::isnan(b.result);
    return maximize ? a.result > b.result : a.result < b.result;
  });
}

}  // namespace

Result<int> RunVerb(const Context& context, const TrialsOptions& options) {
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

}  // namespace sluice
