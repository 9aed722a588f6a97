#include "ledger/optuna/optuna_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/study.h"
#include "ledger/event_codec.h"
#include "ledger/optuna/optuna_codec.h"
#include "ledger/optuna/optuna_reader.h"
#include "ledger/optuna/optuna_schema.h"
#include "ledger/optuna/optuna_space.h"

namespace sluice {
namespace {

constexpr std::int64_t kStudy = 1;

OptunaState StateOf(const TrialInfo& trial) {
  switch (trial.state) {
    case TrialState::kWaiting: return OptunaState::kWaiting;
    case TrialState::kRunning: return OptunaState::kRunning;
    case TrialState::kPaused:
    case TrialState::kStopped: return OptunaState::kPruned;
    case TrialState::kFailed: return OptunaState::kFail;
    case TrialState::kComplete:
      return std::isnan(trial.result) ? OptunaState::kFail : OptunaState::kComplete;
  }
  return OptunaState::kFail;
}

// Naive UTC, as SQLAlchemy writes it.
std::string OptunaTime(Time time) {
  std::string text = FormatPreciseTime(time);
  text[10] = ' ';
  text.pop_back();
  return text;
}

// Binds a number to two columns. The second column has a word for values that the first cannot
// hold; the first is then NULL.
void BindNumber(Statement& statement, int index, double value) {
  statement.Bind(index, std::isfinite(value) ? value : NAN);
  statement.Bind(index + 1, std::string_view(std::isnan(value)      ? "NAN"
                                             : std::isfinite(value) ? "FINITE"
                                             : value > 0            ? "INF_POS"
                                                                    : "INF_NEG"));
}

class StudyWriter {
 public:
  StudyWriter(Reader& reader, const StudyInfo& study, Space space, Database& file)
      : reader_(reader), study_(study), space_(std::move(space)), file_(file) {}

  Result<std::int64_t> Write() {
    // The file is new, and useless after a crash anyway. So it needs neither journal nor syncs.
    SLUICE_TRY(file_.Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"));
    SLUICE_TRY(file_.Execute(kOptunaTables));
    SLUICE_TRY(Prepare());
    SLUICE_TRY(WriteStudy());
    for (std::size_t i = 0; i < space_.size(); ++i)
      distributions_.push_back(EncodeDistribution(space_, i));
    SLUICE_ASSIGN(const std::vector<TrialInfo> trials, reader_.Trials(study_.id));
    states_.reserve(trials.size());
    for (const TrialInfo& trial : trials) {
      states_.push_back(StateOf(trial));
      SLUICE_TRY(WriteTrial(trial));
    }
    SLUICE_TRY(WriteReports());
    SLUICE_TRY(WriteAttributes(trials));
    SLUICE_TRY(file_.Execute("COMMIT"));
    return std::ssize(trials);
  }

 private:
  Status Prepare() {
    SLUICE_ASSIGN(insert_trial_,
                  file_.Prepare("INSERT INTO trials (trial_id, number, study_id, state, "
                                "datetime_start, datetime_complete) VALUES (?, ?, ?, ?, ?, ?)"));
    SLUICE_ASSIGN(insert_param_, file_.Prepare("INSERT INTO trial_params (trial_id, param_name, "
                                               "param_value, distribution_json) VALUES (?, ?, ?, "
                                               "?)"));
    SLUICE_ASSIGN(insert_value_,
                  file_.Prepare("INSERT INTO trial_values (trial_id, objective, value, value_type) "
                                "VALUES (?, 0, ?, ?)"));
    SLUICE_ASSIGN(
        insert_intermediate_,
        file_.Prepare("INSERT OR REPLACE INTO trial_intermediate_values (trial_id, step, "
                      "intermediate_value, intermediate_value_type) VALUES (?, ?, ?, ?)"));
    SLUICE_ASSIGN(insert_attribute_,
                  file_.Prepare("INSERT OR IGNORE INTO trial_user_attributes (trial_id, \"key\", "
                                "value_json) VALUES (?, ?, ?)"));
    SLUICE_ASSIGN(insert_system_,
                  file_.Prepare("INSERT INTO trial_system_attributes (trial_id, \"key\", "
                                "value_json) VALUES (?, ?, ?)"));
    return {};
  }

  Status Insert(std::string_view sql, std::initializer_list<std::string_view> texts) {
    SLUICE_ASSIGN(Statement insert, file_.Prepare(sql));
    int index = 0;
    for (const std::string_view text : texts) insert.Bind(++index, text);
    return insert.Run();
  }

  Status WriteStudy() {
    SLUICE_TRY(Insert(fmt::format("INSERT INTO version_info VALUES (1, {}, ?)", kOptunaSchema),
                      {"sluice"}));
    SLUICE_TRY(Insert("INSERT INTO alembic_version VALUES (?)", {kOptunaRevision}));
    SLUICE_TRY(Insert(fmt::format("INSERT INTO studies VALUES ({}, ?)", kStudy), {study_.name}));
    SLUICE_TRY(Insert(fmt::format("INSERT INTO study_directions (direction, study_id, objective) "
                                  "VALUES (?, {}, 0)",
                                  kStudy),
                      {study_.maximize ? "MAXIMIZE" : "MINIMIZE"}));
    return Insert(fmt::format("INSERT INTO study_system_attributes (study_id, \"key\", "
                              "value_json) VALUES ({}, ?, ?)",
                              kStudy),
                  {"study:metric_names", EncodeTexts({study_.metric})});
  }

  Status WriteTrial(const TrialInfo& trial) {
    const auto id = static_cast<std::int64_t>(Number(trial.id));
    const OptunaState state = states_.back();
    const bool begun = state != OptunaState::kWaiting;
    insert_trial_.Bind(1, id).Bind(2, id - 1).Bind(3, kStudy);
    insert_trial_.Bind(4, kOptunaStates[static_cast<std::size_t>(state)]);
    // A trial that was stopped before it started has neither time.
    const Time started = trial.started == Time{} ? trial.created : trial.started;
    const Time ended = trial.ended == Time{} ? started : trial.ended;
    insert_trial_.BindNull(5).BindNull(6);
    if (begun) insert_trial_.Bind(5, std::string_view(OptunaTime(started)));
    if (begun && state != OptunaState::kRunning)
      insert_trial_.Bind(6, std::string_view(OptunaTime(ended)));
    SLUICE_TRY(insert_trial_.Run());
    if (!begun) return WriteAttribute(insert_system_, id, "fixed_params", trial.params);
    SLUICE_TRY(WriteParams(id, trial.params));
    const bool valued = state == OptunaState::kComplete || state == OptunaState::kPruned;
    if (!valued || std::isnan(trial.result)) return {};
    insert_value_.Bind(1, id);
    BindNumber(insert_value_, 2, trial.result);
    return insert_value_.Run();
  }

  Status WriteParams(std::int64_t trial, std::string_view params) {
    SLUICE_ASSIGN(const auto values, DecodeValues(params));
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const std::string& name = space_.parameters()[i].name;
      const auto value = values.find(name);
      if (value == values.end()) continue;  // not active in this trial
      const double number = NumberOf(space_, i, value->second);
      if (std::isnan(number)) {
        return Corruption(fmt::format("trial {}: {}: found {}, which is not in the study's space",
                                      trial, name, FormatValue(value->second)));
      }
      insert_param_.Bind(1, trial).Bind(2, std::string_view(name)).Bind(3, number);
      insert_param_.Bind(4, std::string_view(distributions_[i]));
      SLUICE_TRY(insert_param_.Run());
    }
    return {};
  }

  static Status WriteAttribute(Statement& insert, std::int64_t trial, std::string_view key,
                               std::string_view json) {
    insert.Bind(1, trial).Bind(2, key).Bind(3, json);
    return insert.Run();
  }

  Status WriteReports() {
    last_metrics_.resize(states_.size());
    Status failed;
    SLUICE_TRY(reader_.EachReport(study_.id, std::nullopt, [&](const ReportInfo& report) {
      if (failed) failed = WriteReport(report);
    }));
    return failed;
  }

  Status WriteReport(const ReportInfo& report) {
    const std::size_t index = Number(report.trial) - 1;
    if (index >= states_.size() || states_[index] == OptunaState::kWaiting) return {};
    last_metrics_[index] = report.metrics;
    SLUICE_ASSIGN(const Metrics metrics, DecodeMetrics(report.metrics));
    const auto objective = std::ranges::find(metrics, study_.metric, &Metrics::value_type::first);
    if (objective == metrics.end()) return {};
    insert_intermediate_.Bind(1, static_cast<std::int64_t>(Number(report.trial)));
    insert_intermediate_.Bind(2, report.work);
    BindNumber(insert_intermediate_, 3, objective->second);
    return insert_intermediate_.Run();
  }

  // An attribute that the trial's program set takes precedence over one of ours with the same name.
  Status WriteAttributes(const std::vector<TrialInfo>& trials) {
    for (const TrialInfo& trial : trials) {
      const auto id = static_cast<std::int64_t>(Number(trial.id));
      SLUICE_ASSIGN(const auto attributes, DecodeMembers(trial.attributes));
      for (const auto& [key, json] : attributes)
        SLUICE_TRY(WriteAttribute(insert_attribute_, id, key, json));
      const std::string& metrics = last_metrics_[Number(trial.id) - 1];
      if (!metrics.empty()) SLUICE_TRY(WriteAttribute(insert_attribute_, id, "metrics", metrics));
      if (!trial.note.empty())
        SLUICE_TRY(WriteAttribute(insert_attribute_, id, "note", EncodeValue(trial.note)));
    }
    return {};
  }

  Reader& reader_;
  const StudyInfo& study_;
  const Space space_;
  Database& file_;
  std::vector<std::string> distributions_;  // by parameter
  std::vector<OptunaState> states_;         // by trial
  std::vector<std::string> last_metrics_;   // by trial
  Statement insert_trial_, insert_param_, insert_value_, insert_intermediate_, insert_attribute_,
      insert_system_;
};

}  // namespace

Result<std::int64_t> WriteOptunaStudy(Reader& reader, const StudyInfo& study,
                                      const std::string& path) {
  SLUICE_ASSIGN(const std::string source, reader.Source(study.id));
  SLUICE_ASSIGN(StudySpec spec, ReadStudy(source, study.name, study.name));
  SLUICE_ASSIGN(const auto file, Database::Open(path, Database::Mode::kCreate));
  return StudyWriter(reader, study, std::move(spec.space), *file).Write();
}

}  // namespace sluice
