#include "cli/trial_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/progress.h"
#include "cli/study_state.h"
#include "cli/table.h"

namespace sluice {
namespace {

std::string Short(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? FormatMetric(*number) : FormatValue(value);
}

}  // namespace

std::string TrialTable(const StudyInfo& study, const std::vector<TrialInfo>& trials,
                       const Terminal& terminal, Time now) {
  std::vector<Table::Column> columns = {{"trial", Align::kRight},
                                        {"state"},
                                        {study.metric, Align::kRight},
                                        {study.unit, Align::kRight},
                                        {"time", Align::kRight}};
  const Params first = trials.empty() ? Params() : ParamsFromJson(trials.front().params);
  for (const auto& [name, value] : first) {
    columns.push_back(
        {name, std::holds_alternative<std::string>(value) ? Align::kLeft : Align::kRight});
  }
  const bool noted =
      std::ranges::any_of(trials, [](const TrialInfo& trial) { return !trial.note.empty(); });
  if (noted) columns.push_back({"note"});
  Table table(std::move(columns));
  for (const TrialInfo& trial : trials) {
    std::vector<Table::Cell> row = {{std::to_string(Number(trial.id))},
                                    {std::string(Name(trial.state)), InkOf(trial.state)},
                                    {trial.reports > 0 ? FormatMetric(trial.best_value) : "-"},
                                    {std::to_string(trial.work)},
                                    {FormatDuration(BusyOf(trial, now))}};
    const Params params = ParamsFromJson(trial.params);
    for (std::size_t i = 0; i < first.size(); ++i) {
      // Nearly always in the same order.
      auto found = i < params.size() && params[i].first == first[i].first
                       ? params.begin() + static_cast<std::ptrdiff_t>(i)
                       : std::ranges::find(params, first[i].first, &Params::value_type::first);
      row.push_back({found == params.end() ? "" : Short(found->second)});
    }
    if (noted) row.push_back({trial.note});
    table.Add(std::move(row));
  }
  return table.Render(terminal);
}

}  // namespace sluice
