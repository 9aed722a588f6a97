#include "ledger/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "ledger/chain.h"
#include "ledger/event_codec.h"
#include "ledger/openings.h"
#include "ledger/store.h"

namespace sluice {
namespace {

void BindTime(Statement& statement, int index, Time time) {
  if (time == kNever) {
    statement.BindNull(index);
  } else {
    statement.Bind(index, Micros(time));
  }
}

Result<std::int64_t> ReadNumber(Statement& query) {
  SLUICE_TRY(query.Step());
  const std::int64_t number = query.Integer(0);
  query.Reset();
  return number;
}

// How many trials a study is to have. One that transfers has as many as it has begun.
int TrialsOf(const Study& study) {
  const int wanted = study.trials_wanted + study.forks;
  const auto made = static_cast<int>(study.trials.size());
  return study.spec.transfer.empty() ? wanted : std::max(wanted, made);
}

}  // namespace

StudyRow RowOf(const Study& study, bool open) {
  return {.id = study.id,
          .name = study.spec.name,
          .folder = study.folder,
          .metric = study.spec.objective.metric,
          .unit = study.spec.unit,
          .direction = study.spec.objective.direction,
          .seed = study.seed,
          .created = study.created,
          .deadline = study.deadline,
          .trials = TrialsOf(study),
          .ending = std::string(Name(study.ending)),
          .finished = study.finished,
          .best = study.best,
          .counts = study.counts,
          .pause = study.pause,
          .open = open};
}

SnapshotRow SnapshotOf(const Engine& engine, StudyId study, EventSeq seq) {
  if (Planted("snapshot-seq")) seq = EventSeq(Number(seq) + 1);
  SnapshotRow row{.study = study, .seq = seq, .digest = 0, .state = engine.Save()};
  row.digest = Digest().Add(std::string_view(row.state)).Value();
  return row;
}

Result<std::unique_ptr<Ledger>> Ledger::Open(const std::string& path, const Disk& disk) {
  auto ledger = std::make_unique<Ledger>();
  SLUICE_ASSIGN(ledger->database_, OpenStoreForWriting(path, disk));
  Database& database = *ledger->database_;
  SLUICE_ASSIGN(ledger->read_last_,
                database.Prepare("SELECT max(coalesce((SELECT max(seq) FROM events), 0), "
                                 "coalesce((SELECT max(seq) FROM reports), 0))"));
  // Changes when another connection has committed something.
  SLUICE_ASSIGN(ledger->read_version_, database.Prepare("PRAGMA data_version"));
  SLUICE_ASSIGN(ledger->version_, ReadNumber(ledger->read_version_));
  SLUICE_ASSIGN(const std::int64_t last, ReadNumber(ledger->read_last_));
  ledger->last_ = EventSeq(static_cast<std::uint64_t>(last));
  SLUICE_ASSIGN(ledger->begin_, database.Prepare("BEGIN IMMEDIATE"));
  SLUICE_ASSIGN(ledger->commit_, database.Prepare("COMMIT"));
  SLUICE_ASSIGN(ledger->rollback_, database.Prepare("ROLLBACK"));
  SLUICE_ASSIGN(ledger->insert_event_,
                database.Prepare(
                    "INSERT INTO events (seq, study, time_us, kind, body) VALUES (?, ?, ?, ?, ?)"));
  SLUICE_ASSIGN(ledger->insert_report_,
                database.Prepare("INSERT INTO reports (seq, study, trial, launch, time_us, "
                                 "message, output_offset, work, metrics)"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  // Both statements number their parameters alike, so that a row is bound to either in the same
  // way.
  SLUICE_ASSIGN(
      ledger->update_trial_,
      database.Prepare(
          "UPDATE trials SET state = ?3, work = ?5, target = ?6, value = ?7, best_value = ?8, "
          "best_work = ?9, launch = ?10, failures = ?11, reports = ?12, started_us = ?14, "
          "ended_us = ?15, busy_us = ?16, saved_work = ?17, saved_bytes = ?18, note = ?19 "
          "WHERE study = ?1 AND trial = ?2"));
  SLUICE_ASSIGN(
      ledger->insert_trial_,
      database.Prepare(
          "INSERT INTO trials (study, trial, state, params, work, target, value, best_value, "
          "best_work, launch, failures, reports, created_us, started_us, ended_us, busy_us, "
          "saved_work, saved_bytes, note) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  SLUICE_ASSIGN(
      ledger->update_study_,
      database.Prepare(
          "UPDATE studies SET updated_us = ?9, trials = ?10, deadline_us = ?11, ending = ?12, "
          "finished = ?13, best = ?14, waiting = ?15, running = ?16, paused = ?17, complete = ?18, "
          "stopped = ?19, failed = ?20, pause = ?21, open = ?22 WHERE id = ?1"));
  SLUICE_ASSIGN(
      ledger->insert_study_,
      database.Prepare(
          "INSERT INTO studies (id, name, folder, seed, metric, direction, unit, created_us, "
          "updated_us, trials, deadline_us, ending, finished, best, waiting, running, paused, "
          "complete, stopped, failed, pause, open) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  SLUICE_ASSIGN(
      ledger->upsert_snapshot_,
      database.Prepare(
          "INSERT OR REPLACE INTO snapshots (study, seq, digest, state) VALUES (?, ?, ?, ?)"));
  SLUICE_ASSIGN(ledger->patch_attributes_,
                database.Prepare("UPDATE trials SET attributes = json_patch(attributes, ?) WHERE "
                                 "study = ? AND trial = ?"));
  SLUICE_ASSIGN(ledger->read_chain_, database.Prepare("SELECT chain FROM studies WHERE id = ?"));
  SLUICE_ASSIGN(ledger->update_chain_,
                database.Prepare("UPDATE studies SET chain = ? WHERE id = ?"));
  SLUICE_ASSIGN(ledger->read_store_chain_, database.Prepare("SELECT chain FROM store"));
  SLUICE_ASSIGN(ledger->update_store_chain_, database.Prepare("UPDATE store SET chain = ?"));
  return ledger;
}

Status Ledger::Commit(const Batch& batch) {
  SLUICE_TRY(begin_.Run());
  Status written = CheckAlone();
  if (written) written = Write(batch);
  if (written) written = WriteChains();
  if (written && guard_) written = guard_();
  if (written) written = commit_.Run();
  if (!written) {
    (void)rollback_.Run();  // its own error is ignored: the first error is the one to report
    chains_.clear();
    lengthened_.clear();
    return written;
  }
  if (!batch.events.empty()) last_ = batch.events.back().first;
  return {};
}

// Checks that no other process has written events: the store must still end with the last event
// that was written here. Otherwise two controllers could give one number to an event and to a
// report. SQLite would not notice, since the two are in different tables.
Status Ledger::CheckAlone() {
  SLUICE_ASSIGN(const std::int64_t version, ReadNumber(read_version_));
  if (version == version_) return {};
  SLUICE_ASSIGN(const std::int64_t last, ReadNumber(read_last_));
  if (last != static_cast<std::int64_t>(Number(last_))) {
    return FailedPrecondition(
        fmt::format("{}: another process has written to this store: its events end at {}, and {} "
                    "are known here: nothing more is written; 'sluice resume' continues",
                    database_->path(), last, Number(last_)));
  }
  version_ = version;
  return {};
}

Status Ledger::TakeUp() {
  SLUICE_TRY(begin_.Run());
  const auto last = ReadNumber(read_last_);
  const auto version = last ? ReadNumber(read_version_) : last;
  (void)rollback_.Run();  // nothing was written
  if (!version) return std::unexpected(version.error());
  last_ = EventSeq(static_cast<std::uint64_t>(*last));
  version_ = *version;
  chains_.clear();
  return {};
}

Status Ledger::Gather() { return database_->Execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

Status Ledger::Write(const Batch& batch) {
  const Time updated = batch.events.empty() ? Time{} : batch.events.back().second.time;
  for (const TrialRow& row : batch.trials) SLUICE_TRY(WriteTrial(row));
  for (const auto& [seq, event] : batch.events) SLUICE_TRY(WriteEvent(batch.study, seq, event));
  for (const StudyRow& row : batch.studies) SLUICE_TRY(WriteStudy(row, updated));
  for (const SnapshotRow& row : batch.snapshots) {
    upsert_snapshot_.Bind(1, static_cast<std::int64_t>(Number(row.study)));
    upsert_snapshot_.Bind(2, static_cast<std::int64_t>(Number(row.seq)));
    upsert_snapshot_.Bind(3, std::string_view(ToHex(row.digest)));
    upsert_snapshot_.BindBlob(4, row.state);
    SLUICE_TRY(upsert_snapshot_.Run());
  }
  return {};
}

Status Ledger::WriteEvent(StudyId owner, EventSeq seq, const Event& event) {
  const auto number = static_cast<std::int64_t>(Number(seq));
  if (const auto* report = std::get_if<Reported>(&event.body)) {
    if (Planted("lost-report") && number % 97 == 0) return {};
    insert_report_.Bind(1, number);
    insert_report_.Bind(2, static_cast<std::int64_t>(Number(report->trial.study)));
    insert_report_.Bind(3, static_cast<std::int64_t>(Number(report->trial.trial)));
    insert_report_.Bind(4, static_cast<std::int64_t>(Number(report->launch)));
    insert_report_.Bind(5, Micros(event.time));
    insert_report_.Bind(6, static_cast<std::int64_t>(report->position.seq));
    insert_report_.Bind(7, static_cast<std::int64_t>(report->position.offset));
    insert_report_.Bind(8, report->work);
    const std::string metrics = EncodeMetrics(report->metrics);
    insert_report_.Bind(9, std::string_view(metrics));
    SLUICE_ASSIGN(std::uint64_t* const chain, ChainOf(report->trial.study));
    *chain = Chain(*chain, {.seq = number,
                            .time_us = Micros(event.time),
                            .trial = Number(report->trial.trial),
                            .launch = Number(report->launch),
                            .message = report->position.seq,
                            .offset = report->position.offset,
                            .work = report->work,
                            .metrics = metrics});
    return insert_report_.Run();
  }
  if (const auto* set = std::get_if<AttributesSet>(&event.body)) {
    patch_attributes_.Bind(1, std::string_view(set->attributes));
    patch_attributes_.Bind(2, static_cast<std::int64_t>(Number(set->trial.study)));
    patch_attributes_.Bind(3, static_cast<std::int64_t>(Number(set->trial.trial)));
    SLUICE_TRY(patch_attributes_.Run());
  }
  const EncodedEvent encoded = Encode(event);
  const StudyId study = IsSet(encoded.study) ? encoded.study : owner;
  SLUICE_ASSIGN(std::uint64_t* const chain, ChainOf(study));
  *chain = Chain(
      *chain,
      {.seq = number, .time_us = Micros(event.time), .kind = encoded.kind, .body = encoded.body});
  insert_event_.Bind(1, number);
  insert_event_.Bind(2, static_cast<std::int64_t>(Number(study)));
  insert_event_.Bind(3, Micros(event.time));
  insert_event_.Bind(4, encoded.kind);
  insert_event_.Bind(5, std::string_view(encoded.body));
  return insert_event_.Run();
}

// The chain so far of a study, or of the events that belong to none, which the caller extends.
// WriteChains then stores it.
Result<std::uint64_t*> Ledger::ChainOf(StudyId study) {
  lengthened_.insert(study);
  if (const auto known = chains_.find(study); known != chains_.end()) return &known->second;
  Statement& read = IsSet(study) ? read_chain_ : read_store_chain_;
  if (IsSet(study)) read.Bind(1, static_cast<std::int64_t>(Number(study)));
  SLUICE_ASSIGN(const bool found, read.Step());
  const std::uint64_t chain = found ? FromHex(read.Text(0)).value_or(0) : 0;
  read.Reset();
  return &(chains_[study] = chain);
}

Status Ledger::WriteChains() {
  for (const StudyId study : std::exchange(lengthened_, {})) {
    if (Planted("late-chain") && chains_[study] % 4 == 0) continue;
    Statement& update = IsSet(study) ? update_chain_ : update_store_chain_;
    update.Bind(1, std::string_view(ToHex(chains_[study])));
    if (IsSet(study)) update.Bind(2, static_cast<std::int64_t>(Number(study)));
    SLUICE_TRY(update.Run());
  }
  return {};
}

Status Ledger::WriteTrial(const TrialRow& row) {
  const Trial& trial = row.trial;
  if (Planted("stale-row") && trial.state == TrialState::kComplete) return {};
  SLUICE_TRY(Put(update_trial_, row));
  if (database_->changes() == 0) SLUICE_TRY(Put(insert_trial_, row));
  return trial.IsFork() ? WriteLineage(row) : Status{};
}

Status Ledger::Put(Statement& put, const TrialRow& row) {
  const Trial& trial = row.trial;
  put.Bind(1, static_cast<std::int64_t>(Number(row.study)));
  put.Bind(2, static_cast<std::int64_t>(Number(trial.id)));
  put.Bind(3, Name(trial.state));
  put.Bind(4, std::string_view(row.params));
  put.Bind(5, trial.work);
  if (trial.target == kNoLimit) {
    put.BindNull(6);
  } else {
    put.Bind(6, trial.target);
  }
  put.Bind(7, trial.value);
  put.Bind(8, trial.result);
  put.Bind(9, trial.result_work);
  put.Bind(10, static_cast<std::int64_t>(Number(trial.launch.id)));
  put.Bind(11, static_cast<std::int64_t>(trial.failures));
  put.Bind(12, static_cast<std::int64_t>(trial.reports));
  put.Bind(13, Micros(trial.created));
  put.Bind(14, Micros(trial.launch.started));
  put.Bind(15, Micros(trial.ended));
  put.Bind(16, static_cast<std::int64_t>(trial.busy.count()));
  put.Bind(17, trial.saved_work);
  put.Bind(18, trial.saved_bytes);
  put.Bind(19, trial.note.empty() && trial.enqueued ? "enqueued" : std::string_view(trial.note));
  return put.Run();
}

// A fork's lineage is kept among its trial's attributes, so that exports have it.
Status Ledger::WriteLineage(const TrialRow& row) {
  const std::string lineage = fmt::format(R"({{"parent":{},"forked_at":{}}})",
                                          Number(row.trial.parent), row.trial.forked_at);
  patch_attributes_.Bind(1, std::string_view(lineage));
  patch_attributes_.Bind(2, static_cast<std::int64_t>(Number(row.study)));
  patch_attributes_.Bind(3, static_cast<std::int64_t>(Number(row.trial.id)));
  return patch_attributes_.Run();
}

Status Ledger::WriteStudy(const StudyRow& row, Time updated) {
  SLUICE_TRY(Put(update_study_, row, updated));
  return database_->changes() == 0 ? Put(insert_study_, row, updated) : Status{};
}

Status Ledger::Put(Statement& put, const StudyRow& row, Time updated) {
  put.Bind(1, static_cast<std::int64_t>(Number(row.id)));
  put.Bind(2, std::string_view(row.name));
  put.Bind(3, std::string_view(row.folder));
  put.Bind(4, static_cast<std::int64_t>(row.seed));
  put.Bind(5, std::string_view(row.metric));
  put.Bind(6, std::string_view(row.direction == Direction::kMinimize ? "minimize" : "maximize"));
  put.Bind(7, std::string_view(row.unit));
  put.Bind(8, Micros(row.created));
  put.Bind(9, Micros(updated));
  put.Bind(10, static_cast<std::int64_t>(row.trials));
  BindTime(put, 11, row.deadline);
  put.Bind(12, std::string_view(row.ending));
  put.Bind(13, static_cast<std::int64_t>(row.finished));
  if (IsSet(row.best)) {
    put.Bind(14, static_cast<std::int64_t>(Number(row.best)));
  } else {
    put.BindNull(14);
  }
  for (std::size_t state = 0; state < kTrialStates; ++state) {
    put.Bind(15 + static_cast<int>(state), static_cast<std::int64_t>(row.counts[state]));
  }
  put.Bind(21, std::string_view(row.pause));
  put.Bind(22, static_cast<std::int64_t>(row.open));
  return put.Run();
}

Result<StudyId> StudyNamed(Database& database, const std::string& name) {
  SLUICE_ASSIGN(Statement query, database.Prepare("SELECT id FROM studies WHERE name = ?"));
  query.Bind(1, std::string_view(name));
  SLUICE_ASSIGN(const bool found, query.Step());
  return StudyId(found ? static_cast<std::uint32_t>(query.Integer(0)) : 0);
}

Result<StudyId> NextStudyId(Database& database) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare("SELECT max(coalesce((SELECT max(id) FROM studies), 0), "
                       "coalesce((SELECT max(study) FROM events), 0), "
                       "coalesce((SELECT max(json_extract(body, '$.study')) FROM events WHERE "
                       "study = 0 AND kind = 'study_opened'), 0)) + 1"));
  SLUICE_TRY(query.Step());
  return StudyId(static_cast<std::uint32_t>(query.Integer(0)));
}

namespace {

Status CheckClosed(const Database& database, const Openings& openings, StudyId study) {
  if (!openings.IsOpen(study)) return {};
  return FailedPrecondition(fmt::format(
      "{}: study {} is still in the engine that studies share: it is removed once it was closed",
      database.path(), Number(study)));
}

}  // namespace

Status CheckRemovable(Database& database, StudyId study) {
  SLUICE_ASSIGN(const Openings openings, Openings::Read(database));
  return CheckClosed(database, openings, study);
}

Status RemoveStudy(Database& database, StudyId study, const std::function<Status()>& guard) {
  SLUICE_ASSIGN(const Openings openings, Openings::Read(database));
  SLUICE_TRY(CheckClosed(database, openings, study));
  std::vector<std::uint32_t> companions;
  for (const StudyId companion : openings.CompanionsOf(study))
    companions.push_back(Number(companion));
  const std::string all = fmt::format("{}", fmt::join(companions, ", "));
  constexpr std::string_view kUnlessNeeded =
      "DELETE FROM {0} WHERE study IN ({1}) AND NOT EXISTS (SELECT 1 FROM studies WHERE id IN "
      "({1})); ";
  // The events that belong to no study concern those that there are.
  constexpr std::string_view kIfLast =
      "DELETE FROM events WHERE NOT EXISTS (SELECT 1 FROM studies); DELETE FROM snapshots WHERE "
      "NOT EXISTS (SELECT 1 FROM studies); UPDATE store SET chain = '' WHERE NOT EXISTS (SELECT 1 "
      "FROM studies); ";
  Status removed = database.Execute(fmt::format(
      "BEGIN IMMEDIATE; DELETE FROM trials WHERE study = {0}; DELETE FROM snapshots WHERE study = "
      "{0}; DELETE FROM studies WHERE id = {0}; {1}{2}{3}",
      Number(study), fmt::format(kUnlessNeeded, "events", all),
      fmt::format(kUnlessNeeded, "reports", all), kIfLast));
  if (removed && guard) removed = guard();
  if (removed) return database.Execute("COMMIT");
  (void)database.Execute("ROLLBACK");
  return removed;
}

}  // namespace sluice
