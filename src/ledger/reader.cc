#include "ledger/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "ledger/event_codec.h"
#include "ledger/store.h"

namespace sluice {
namespace {

// A store of schema 1 has no column for pauses, and before schema 4 studies were not opened.
constexpr const char* kStudyColumns =
    "SELECT id, name, folder, metric, direction, unit, seed, created_us, updated_us, deadline_us, "
    "trials, ending, finished, "
    "best, waiting, running, paused, complete, stopped, failed, {}, {} FROM studies ";

StudyInfo ReadStudyRow(const Statement& row) {
  StudyInfo study;
  study.id = StudyId(static_cast<std::uint32_t>(row.Integer(0)));
  study.name = row.Text(1);
  study.folder = row.Text(2);
  study.metric = row.Text(3);
  study.direction = row.Text(4);
  study.maximize = study.direction == "maximize";
  study.unit = row.Text(5);
  study.seed = static_cast<std::uint64_t>(row.Integer(6));
  study.created = FromMicros(row.Integer(7));
  study.updated = FromMicros(row.Integer(8));
  if (!row.IsNull(9)) study.deadline = FromMicros(row.Integer(9));
  study.trials = static_cast<int>(row.Integer(10));
  study.ending = row.Text(11);
  study.finished = row.Integer(12) != 0;
  study.best = TrialId(static_cast<std::uint32_t>(row.Integer(13)));
  for (std::size_t state = 0; state < kTrialStates; ++state) {
    study.counts[state] = static_cast<int>(row.Integer(14 + static_cast<int>(state)));
  }
  study.pause = row.Text(20);
  study.open = row.Integer(21) != 0;
  return study;
}

constexpr const char* kTrialColumns =
    "SELECT trial, state, params, attributes, work, target, value, best_value, best_work, launch, "
    "failures, reports, "
    "created_us, started_us, ended_us, busy_us, saved_work, saved_bytes, note FROM trials ";

Result<TrialState> StateNamed(std::string_view name) {
  const auto state = std::ranges::find(kTrialStateNames, name);
  if (state == kTrialStateNames.end())
    return Corruption(fmt::format("a trial is in the unknown state '{}'", name));
  return static_cast<TrialState>(state - kTrialStateNames.begin());
}

Result<TrialInfo> ReadTrialRow(const Statement& row) {
  TrialInfo trial;
  trial.id = TrialId(static_cast<std::uint32_t>(row.Integer(0)));
  SLUICE_ASSIGN(trial.state, StateNamed(row.Text(1)));
  trial.params = row.Text(2);
  trial.attributes = row.Text(3);
  trial.work = row.Integer(4);
  if (!row.IsNull(5)) trial.target = row.Integer(5);
  trial.value = row.Number(6);
  trial.result = row.Number(7);
  trial.result_work = row.Integer(8);
  trial.launch = LaunchId(static_cast<std::uint32_t>(row.Integer(9)));
  trial.failures = static_cast<int>(row.Integer(10));
  trial.reports = static_cast<int>(row.Integer(11));
  trial.created = FromMicros(row.Integer(12));
  trial.started = FromMicros(row.Integer(13));
  trial.ended = FromMicros(row.Integer(14));
  trial.busy = Duration(row.Integer(15));
  trial.saved_work = row.Integer(16);
  trial.saved_bytes = row.Integer(17);
  trial.note = row.Text(18);
  return trial;
}

Result<std::vector<TrialInfo>> ReadTrials(Statement& query) {
  std::vector<TrialInfo> trials;
  while (true) {
    SLUICE_ASSIGN(const bool row, query.Step());
    if (!row) return trials;
    SLUICE_ASSIGN(TrialInfo trial, ReadTrialRow(query));
    trials.push_back(std::move(trial));
  }
}

}  // namespace

int StudyInfo::made() const { return std::accumulate(counts.begin(), counts.end(), 0); }

Result<std::unique_ptr<Reader>> Reader::Open(const std::string& path, const Disk& disk) {
  SLUICE_ASSIGN(auto database, OpenStoreForReading(path, disk));
  SLUICE_ASSIGN(const int schema, SchemaOf(*database));
  return std::unique_ptr<Reader>(new Reader(std::move(database), schema));
}

Result<Statement> Reader::PrepareStudies(std::string_view rest) {
  return database_->Prepare(fmt::format(fmt::runtime(kStudyColumns), schema_ < 2 ? "''" : "pause",
                                        schema_ < 4 ? "0" : "open") +
                            std::string(rest));
}

Result<std::vector<StudyInfo>> Reader::Studies() {
  SLUICE_ASSIGN(Statement query, PrepareStudies("ORDER BY id"));
  std::vector<StudyInfo> studies;
  while (true) {
    SLUICE_ASSIGN(const bool row, query.Step());
    if (!row) return studies;
    studies.push_back(ReadStudyRow(query));
  }
}

Result<StudyInfo> Reader::FindStudy(std::string_view name) {
  SLUICE_ASSIGN(Statement query, PrepareStudies("WHERE name = ?"));
  query.Bind(1, name);
  SLUICE_ASSIGN(const bool row, query.Step());
  if (row) return ReadStudyRow(query);
  SLUICE_ASSIGN(const std::vector<StudyInfo> studies, Studies());
  std::vector<std::string> names;
  for (const StudyInfo& study : studies) names.push_back(study.name);
  return NotFound(fmt::format("no study '{}' in {}{}: 'sluice studies' lists them", name,
                              database_->path(), DidYouMean(name, names)));
}

Result<StudyInfo> Reader::LatestStudy() {
  SLUICE_ASSIGN(Statement query, PrepareStudies("ORDER BY updated_us DESC LIMIT 1"));
  SLUICE_ASSIGN(const bool row, query.Step());
  if (!row)
    return NotFound(
        fmt::format("{}: no study here yet: run 'sluice tune study.yaml'", database_->path()));
  return ReadStudyRow(query);
}

Result<std::string> Reader::Source(StudyId study) {
  SLUICE_ASSIGN(
      Statement query,
      database_->Prepare("SELECT json_extract(body, '$.source') FROM events WHERE study = ? AND "
                         "kind = 'study_created'"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  SLUICE_ASSIGN(const bool row, query.Step());
  if (!row)
    return Corruption(
        fmt::format("{}: study {} has no beginning", database_->path(), Number(study)));
  return std::string(query.Text(0));
}

Result<std::vector<Node>> Reader::Nodes(StudyId study) {
  SLUICE_ASSIGN(
      Statement query,
      database_->Prepare("SELECT time_us, kind, body FROM events WHERE study IN (0, ?) AND kind IN "
                         "('controller_started', 'nodes_changed') ORDER BY seq DESC "
                         "LIMIT 1"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  SLUICE_ASSIGN(const bool row, query.Step());
  if (!row) return std::vector<Node>();
  SLUICE_ASSIGN(const Event event,
                DecodeEvent(FromMicros(query.Integer(0)), study, query.Text(1), query.Text(2)));
  if (const auto* started = std::get_if<ControllerStarted>(&event.body)) return started->nodes;
  return std::get<NodesChanged>(event.body).nodes;
}

Result<TrialInfo> Reader::FindTrial(const StudyInfo& study, TrialId trial) {
  SLUICE_ASSIGN(Statement query,
                database_->Prepare(fmt::format("{} WHERE study = ? AND trial = ?", kTrialColumns)));
  query.Bind(1, static_cast<std::int64_t>(Number(study.id)));
  query.Bind(2, static_cast<std::int64_t>(Number(trial)));
  SLUICE_ASSIGN(const bool row, query.Step());
  if (row) return ReadTrialRow(query);
  return NotFound(fmt::format("study '{}' has no trial {}: its trials are numbered from 1 to {}",
                              study.name, Number(trial), study.made()));
}

Result<std::vector<TrialInfo>> Reader::Trials(StudyId study, std::optional<TrialState> state) {
  // Without a hint, SQLite reads all trials in order instead of sorting the few that run.
  const bool running = state == TrialState::kRunning;
  const char* filter = running ? "INDEXED BY trials_running WHERE study = ? AND state = 'running'"
                       : state ? "WHERE study = ? AND state = ?"
                               : "WHERE study = ?";
  SLUICE_ASSIGN(Statement query,
                database_->Prepare(fmt::format("{} {} ORDER BY trial", kTrialColumns, filter)));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  if (state && *state != TrialState::kRunning) query.Bind(2, Name(*state));
  return ReadTrials(query);
}

Result<std::vector<TrialSummary>> Reader::LatestTrials(StudyId study, std::size_t most) {
  SLUICE_ASSIGN(
      Statement query,
      database_->Prepare("SELECT trial, state, work, best_value, best_work, reports, started_us, "
                         "ended_us, busy_us, note FROM trials WHERE study = ? "
                         "ORDER BY trial DESC LIMIT ?"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  query.Bind(2, static_cast<std::int64_t>(most));
  std::vector<TrialSummary> trials;
  while (true) {
    SLUICE_ASSIGN(const bool row, query.Step());
    if (!row) return trials;
    SLUICE_ASSIGN(const TrialState state, StateNamed(query.Text(1)));
    trials.push_back({.id = TrialId(static_cast<std::uint32_t>(query.Integer(0))),
                      .state = state,
                      .work = query.Integer(2),
                      .result = query.Number(3),
                      .result_work = query.Integer(4),
                      .reports = static_cast<int>(query.Integer(5)),
                      .started = FromMicros(query.Integer(6)),
                      .ended = FromMicros(query.Integer(7)),
                      .busy = Duration(query.Integer(8)),
                      .note = std::string(query.Text(9))});
  }
}

Result<std::vector<TrialInfo>> Reader::Best(const StudyInfo& study, int limit) {
  SLUICE_ASSIGN(
      Statement query,
      database_->Prepare(fmt::format(
          "{} WHERE study = ? AND best_value IS NOT NULL ORDER BY best_value {}, trial LIMIT ?",
          kTrialColumns, study.maximize ? "DESC" : "ASC")));
  query.Bind(1, static_cast<std::int64_t>(Number(study.id)));
  query.Bind(2, static_cast<std::int64_t>(limit));
  return ReadTrials(query);
}

Result<std::vector<ResultInfo>> Reader::Results(const StudyInfo& study, int most) {
  const auto made = static_cast<std::uint64_t>(study.made());
  const auto parts = std::min(made, static_cast<std::uint64_t>(most));
  const bool all = parts == made;
  SLUICE_ASSIGN(Statement query, database_->Prepare(fmt::format(
                                     "SELECT params, best_value FROM trials WHERE study = ? AND {} "
                                     "state IN ('complete', 'stopped') AND reports > 0 ORDER BY "
                                     "trial",
                                     all ? "" : "trial = ? AND")));
  std::vector<ResultInfo> results;
  // Takes a random trial of each part, and not every n-th trial: in a grid, every n-th trial may
  // have the same value of a parameter.
  Random random = Random(made).Fork("results");
  for (std::uint64_t part = 0; part < (all ? 1 : parts); ++part) {
    query.Bind(1, static_cast<std::int64_t>(Number(study.id)));
    const std::uint64_t first = part * made / std::max<std::uint64_t>(parts, 1);
    const std::uint64_t after = (part + 1) * made / std::max<std::uint64_t>(parts, 1);
    if (!all) query.Bind(2, static_cast<std::int64_t>(first + random.Below(after - first) + 1));
    while (true) {
      SLUICE_ASSIGN(const bool row, query.Step());
      if (!row) break;
      results.push_back({std::string(query.Text(0)), query.Number(1)});
    }
    query.Reset();
  }
  return results;
}

Status Reader::EachReport(StudyId study, std::optional<TrialId> trial,
                          const std::function<void(const ReportInfo&)>& visit) {
  SLUICE_ASSIGN(Statement query,
                database_->Prepare(trial ? "SELECT trial, launch, time_us, work, metrics FROM "
                                           "reports WHERE study = ? AND trial = ? "
                                           "ORDER BY seq"
                                         : "SELECT trial, launch, time_us, work, metrics FROM "
                                           "reports WHERE +study = ? ORDER BY seq"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  if (trial) query.Bind(2, static_cast<std::int64_t>(Number(*trial)));
  while (true) {
    SLUICE_ASSIGN(const bool row, query.Step());
    if (!row) return {};
    visit({.trial = TrialId(static_cast<std::uint32_t>(query.Integer(0))),
           .launch = LaunchId(static_cast<std::uint32_t>(query.Integer(1))),
           .time = FromMicros(query.Integer(2)),
           .work = query.Integer(3),
           .metrics = std::string(query.Text(4))});
  }
}

Status Reader::Freeze() { return database_->Execute("BEGIN"); }

Result<std::int64_t> Reader::Version() {
  SLUICE_ASSIGN(Statement query, database_->Prepare("PRAGMA data_version"));
  SLUICE_TRY(query.Step());
  return query.Integer(0);
}

}  // namespace sluice
