#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "ledger/database.h"

namespace sluice {

// A trial as readers see it. `params` are its parameters by name, a JSON object.
struct TrialRow {
  StudyId study{};
  Trial trial;
  std::string params;
};

// A study as readers see it.
struct StudyRow {
  StudyId id{};
  std::string name, folder, metric, unit;
  Direction direction{};
  std::uint64_t seed = 0;
  Time created{};
  Time deadline{};
  int trials = 0;
  std::string ending;
  bool finished = false;
  TrialId best{};
  std::array<int, kTrialStates> counts{};
  std::string pause = {};
  bool open = false;  // in the engine that studies share (ledger/openings.h)
};
StudyRow RowOf(const Study& study, bool open = false);

struct SnapshotRow {
  StudyId study{};  // 0: of the engine that several studies share
  EventSeq seq{};
  std::uint64_t digest = 0;
  std::string state;
};
SnapshotRow SnapshotOf(const Engine& engine, StudyId study, EventSeq seq);

// What one commit makes durable.
struct Batch {
  StudyId study{};  // the study of events that name none; 0: they belong to no study
  std::vector<std::pair<EventSeq, Event>> events;
  std::vector<TrialRow> trials;
  std::vector<StudyRow> studies;
  std::vector<SnapshotRow> snapshots;
  bool empty() const { return events.empty() && snapshots.empty(); }
};

// Writes batches, each in one synchronous transaction. One thread at a time.
class Ledger {
 public:
  static Result<std::unique_ptr<Ledger>> Open(const std::string& path, const Disk& disk = {});
  // Called in every transaction before it commits: if the guard fails, nothing is committed.
  void SetGuard(std::function<Status()> guard) { guard_ = std::move(guard); }
  const std::function<Status()>& guard() const { return guard_; }
  // Goes on after what another process has written since the last commit here. Waits for a
  // transaction that this process has begun.
  Status TakeUp();
  // Brings all that was written into the store's file, so that a copy of that file has it.
  Status Gather();
  Status Commit(const Batch& batch);
  EventSeq last() const { return last_; }
  Database& database() { return *database_; }

 private:
  Status CheckAlone();
  Status Write(const Batch& batch);
  Status WriteEvent(StudyId owner, EventSeq seq, const Event& event);
  Status WriteTrial(const TrialRow& row);
  Status WriteLineage(const TrialRow& row);
  Status WriteStudy(const StudyRow& row, Time updated);
  Result<std::uint64_t*> ChainOf(StudyId study);
  Status WriteChains();
  static Status Put(Statement& put, const TrialRow& row);
  static Status Put(Statement& put, const StudyRow& row, Time updated);

  std::unique_ptr<Database> database_;
  Statement insert_event_, insert_report_, update_trial_, insert_trial_, update_study_,
      insert_study_, upsert_snapshot_, patch_attributes_, read_chain_, update_chain_,
      read_store_chain_, update_store_chain_;
  Statement begin_, commit_, rollback_, read_last_, read_version_;
  EventSeq last_{};
  std::int64_t version_ = 0;  // data_version of the database, as this connection saw it last
  std::function<Status()> guard_;
  std::map<StudyId, std::uint64_t> chains_;  // of studies that were written to; 0: of no study
  std::set<StudyId> lengthened_;             // studies with a chain that grew in this transaction
};

// The id of the study of this name; 0 if there is none.
Result<StudyId> StudyNamed(Database& database, const std::string& name);
// The id for a new study. It is above the ids of all studies, and above every id that an event
// names, even if that study is gone.
Result<StudyId> NextStudyId(Database& database);
// Removes a study with its trials and snapshots. Its events and reports are removed too, unless a
// study is left that cannot be replayed without them (Openings::CompanionsOf): then they go with
// the last such study. Fails with failed_precondition while the study is open.
// Nothing is removed if the guard fails.
Status RemoveStudy(Database& database, StudyId study, const std::function<Status()>& guard = {});
// Whether RemoveStudy would not refuse to.
Status CheckRemovable(Database& database, StudyId study);

}  // namespace sluice
