#include "cli/text/trial_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/study_state.h"
#include "cli/text/table.h"
#include "cli/view/progress.h"

namespace sluice {
namespace {

std::string Short(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? FormatMetric(*number) : FormatValue(value);
}

struct ParamColumn {
  std::string name;
  Align align;
};

// A column for each parameter that at least one trial has, in the order of the space. A new column
// is put right after the column of the parameter that precedes it in the trial.
std::vector<ParamColumn> ParamColumnsOf(const std::vector<Params>& all) {
  std::vector<ParamColumn> columns;
  for (const Params& params : all) {
    auto next = columns.begin();
    for (const auto& [name, value] : params) {
      if (next == columns.end() || next->name != name) {
        const auto found = std::ranges::find(columns, name, &ParamColumn::name);
        const bool text = std::holds_alternative<std::string>(value);
        next = found != columns.end()
                   ? found
                   : columns.insert(next, {name, text ? Align::kLeft : Align::kRight});
      }
      ++next;
    }
  }
  return columns;
}

}  // namespace

std::string TrialTable(const StudyInfo& study, const std::vector<TrialInfo>& trials,
                       const Terminal& terminal, Time now) {
  std::vector<Table::Column> columns = {{"trial", Align::kRight},
                                        {"state"},
                                        {study.metric, Align::kRight},
                                        {study.unit, Align::kRight},
                                        {"time", Align::kRight}};
  std::vector<Params> all;
  for (const TrialInfo& trial : trials) all.push_back(ParamsFromJson(trial.params));
  const std::vector<ParamColumn> param_columns = ParamColumnsOf(all);
  for (const ParamColumn& column : param_columns) columns.push_back({column.name, column.align});
  const bool noted =
      std::ranges::any_of(trials, [](const TrialInfo& trial) { return !trial.note.empty(); });
  if (noted) columns.push_back({"note"});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialInfo& trial = trials[i];
    std::vector<Table::Cell> row = {{std::to_string(Number(trial.id))},
                                    {std::string(Name(trial.state)), InkOf(trial.state)},
                                    {trial.reports > 0 ? FormatMetric(trial.result) : "-"},
                                    {std::to_string(trial.work)},
                                    {FormatDuration(BusyOf(trial, now))}};
    for (const ParamColumn& column : param_columns) {
      const auto found = std::ranges::find(all[i], column.name, &Params::value_type::first);
      row.push_back({found == all[i].end() ? "" : Short(found->second)});
    }
    if (noted) row.push_back({std::string(FirstLine(trial.note))});
    table.Add(std::move(row));
  }
  return table.Render(terminal);
}

}  // namespace sluice
