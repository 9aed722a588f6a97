#include "ledger/audit.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/json_reader.h"
#include "ledger/chain.h"
#include "ledger/ledger.h"
#include "ledger/openings.h"
#include "ledger/recovery.h"
#include "ledger/store.h"

namespace sluice {
namespace {

constexpr std::size_t kMostFindings = 12;

struct SummedUp {
  std::string chain;  // empty if there are no events
  std::optional<std::int64_t> last_us;
};

// Computes the chain of a study, or of the events that belong to none, from what was written after
// event `after`, in order.
Result<SummedUp> SumUp(Database& database, StudyId study, std::int64_t after) {
  const auto id = static_cast<std::int64_t>(Number(study));
  SLUICE_ASSIGN(Statement events,
                database.Prepare("SELECT seq, time_us, kind, body FROM events WHERE seq > ? AND "
                                 "+study = ? ORDER BY seq"));
  SLUICE_ASSIGN(Statement reports,
                database.Prepare("SELECT seq, time_us, trial, launch, message, output_offset, "
                                 "work, metrics FROM reports WHERE seq > ? AND +study = ? ORDER "
                                 "BY seq"));
  events.Bind(1, after).Bind(2, id);
  reports.Bind(1, after).Bind(2, id);
  SLUICE_ASSIGN(bool more_events, events.Step());
  SLUICE_ASSIGN(bool more_reports, reports.Step());
  std::uint64_t sum = 0;
  SummedUp summed;
  while (more_events || more_reports) {
    const bool is_event = more_events && (!more_reports || events.Integer(0) < reports.Integer(0));
    summed.last_us = (is_event ? events : reports).Integer(1);
    if (is_event) {
      sum = Chain(sum, ChainedEvent{.seq = events.Integer(0),
                                    .time_us = events.Integer(1),
                                    .kind = events.Text(2),
                                    .body = events.Text(3)});
      SLUICE_ASSIGN(more_events, events.Step());
    } else {
      sum = Chain(sum, ChainedReport{.seq = reports.Integer(0),
                                     .time_us = reports.Integer(1),
                                     .trial = static_cast<std::uint64_t>(reports.Integer(2)),
                                     .launch = static_cast<std::uint64_t>(reports.Integer(3)),
                                     .message = static_cast<std::uint64_t>(reports.Integer(4)),
                                     .offset = static_cast<std::uint64_t>(reports.Integer(5)),
                                     .work = reports.Integer(6),
                                     .metrics = reports.Text(7)});
      SLUICE_ASSIGN(more_reports, reports.Step());
    }
  }
  if (sum != 0) summed.chain = ToHex(sum);
  return summed;
}

class Audit {
 public:
  Audit(Reader& reader, const StudyInfo& study)
      : reader_(reader), database_(reader.database()), study_(study) {}

  Result<std::vector<std::string>> Run() {
    SLUICE_TRY(CheckChain());
    auto engine = RecoverEngine(database_, study_.id, Recover::kFromEvents);
    if (!engine) {
      Say(fmt::format("its events do not read back: {}", engine.error().message));
      return std::move(findings_);
    }
    const Study& made = *(*engine)->study(study_.id);
    SLUICE_ASSIGN(const Openings openings, Openings::Read(database_));
    SLUICE_TRY(CheckStudyRow(made, openings));
    SLUICE_TRY(GatherAttributes(made));
    SLUICE_ASSIGN(const std::vector<TrialInfo> rows, reader_.Trials(study_.id));
    CheckTrialRows(made, rows);
    SLUICE_TRY(CheckCounts(made));
    return std::move(findings_);
  }

 private:
  void Say(std::string finding) {
    if (findings_.size() < kMostFindings) findings_.push_back(std::move(finding));
  }

  template <typename T>
  void Compare(const std::string& whose, std::string_view what, const T& row, const T& made) {
    if (row != made)
      Say(fmt::format("{}: {} is {}, but its events give {}", whose, what, row, made));
  }
  void CompareValue(const std::string& whose, std::string_view what, double row, double made) {
    if (row == made || (std::isnan(row) && std::isnan(made))) return;
    Say(fmt::format("{}: {} is {}, but its events give {}", whose, what, row, made));
  }

  // Compares the chain of the events and reports with the stored one.
  Status CheckChain() {
    SLUICE_ASSIGN(const int schema, SchemaOf(database_));
    last_us_ = Micros(study_.updated);
    if (schema < 2) return {};
    SLUICE_ASSIGN(Statement kept,
                  database_.Prepare("SELECT chain, chained_after FROM studies WHERE id = ?"));
    kept.Bind(1, static_cast<std::int64_t>(Number(study_.id)));
    SLUICE_ASSIGN(const bool found, kept.Step());
    if (!found) return {};
    SLUICE_ASSIGN(const SummedUp sum, SumUp(database_, study_.id, kept.Integer(1)));
    if (sum.last_us) last_us_ = *sum.last_us;
    if (sum.chain != kept.Text(0))
      Say("its events and reports are not those that were written: their checksum differs");
    return {};
  }

  // Whether something was written down at this time.
  Result<bool> Happened(std::int64_t time_us) {
    SLUICE_ASSIGN(Statement query,
                  database_.Prepare("SELECT EXISTS (SELECT 1 FROM events WHERE time_us = ?1) OR "
                                    "EXISTS (SELECT 1 FROM reports WHERE time_us = ?1)"));
    query.Bind(1, time_us);
    SLUICE_TRY(query.Step());
    return query.Integer(0) != 0;
  }

  Status CheckStudyRow(const Study& made, const Openings& openings) {
    const StudyRow row = RowOf(made, openings.IsOpen(made.id));
    Compare("the study", "name", study_.name, row.name);
    Compare("the study", "metric", study_.metric, row.metric);
    Compare("the study", "folder", study_.folder, row.folder);
    Compare("the study", "seed", study_.seed, row.seed);
    Compare("the study", "unit", study_.unit, row.unit);
    Compare("the study", "direction", study_.direction,
            std::string(row.direction == Direction::kMinimize ? "minimize" : "maximize"));
    Compare("the study", "time of making", Micros(study_.created), Micros(row.created));
    Compare("the study", "deadline", Micros(study_.deadline), Micros(row.deadline));
    const std::int64_t updated_us = Micros(study_.updated);
    // A study that shared the engine may have changed with an event that is not its own.
    const bool shared = openings.WasOpened(made.id) && updated_us > last_us_;
    SLUICE_ASSIGN(const bool happened, Happened(updated_us));
    if (!shared || !happened) Compare("the study", "time of the last change", updated_us, last_us_);
    Compare("the study", "number of trials", study_.trials, row.trials);
    Compare("the study", "ending", study_.ending, row.ending);
    Compare("the study", "finished", study_.finished, row.finished);
    Compare("the study", "best trial", Number(study_.best), Number(row.best));
    Compare("the study", "pause", study_.pause, row.pause);
    Compare("the study", "openness", study_.open, row.open);
    for (std::size_t state = 0; state < kTrialStates; ++state) {
      Compare("the study", fmt::format("number of {} trials", kTrialStateNames[state]),
              study_.counts[state], row.counts[state]);
    }
    return {};
  }

  // Gathers the attributes that programs set on their trials, and the lineage of forks.
  Status GatherAttributes(const Study& made) {
    SLUICE_ASSIGN(Statement events,
                  database_.Prepare(
                      "SELECT json_extract(body, '$.trial'), json_extract(body, '$.attributes') "
                      "FROM events WHERE study = ? AND kind = 'attributes_set' ORDER BY seq"));
    SLUICE_ASSIGN(Statement patch, database_.Prepare("SELECT json_patch(?, ?)"));
    const auto add = [&](TrialId trial, std::string_view more) -> Status {
      std::string& attributes = attributes_.emplace(trial, "{}").first->second;
      patch.Bind(1, std::string_view(attributes)).Bind(2, more);
      SLUICE_TRY(patch.Step());
      const std::string patched(patch.Text(0));
      patch.Reset();
      attributes = patched;
      return {};
    };
    events.Bind(1, static_cast<std::int64_t>(Number(study_.id)));
    while (true) {
      SLUICE_ASSIGN(const bool row, events.Step());
      if (!row) break;
      const auto trial = TrialId(static_cast<std::uint32_t>(events.Integer(0)));
      const std::string said(events.Text(1));
      for (const char* name : {"\"parent\"", "\"forked_at\""}) {
        if (said.find(name) != std::string::npos) own_lineage_.insert(trial);
      }
      SLUICE_TRY(add(trial, said));
    }
    for (const Trial& trial : made.trials) {
      if (!trial.IsFork() || trial.awaits_parameters) continue;
      SLUICE_TRY(add(trial.id, fmt::format(R"({{"parent":{},"forked_at":{}}})",
                                           Number(trial.parent), trial.forked_at)));
    }
    return {};
  }

  void CheckTrialRows(const Study& made, const std::vector<TrialInfo>& rows) {
    std::size_t next = 0;
    for (const Trial& trial : made.trials) {
      if (trial.awaits_parameters) continue;
      while (next < rows.size() && rows[next].id < trial.id)
        Say(fmt::format("trial {}: the events have no such trial", Number(rows[next++].id)));
      if (next == rows.size() || rows[next].id != trial.id) {
        Say(fmt::format("trial {}: it is missing", Number(trial.id)));
        continue;
      }
      CheckTrialRow(made, trial, rows[next++]);
    }
    for (; next < rows.size(); ++next)
      Say(fmt::format("trial {}: the events have no such trial", Number(rows[next].id)));
  }

  void CheckTrialRow(const Study& made, const Trial& trial, const TrialInfo& row) {
    const std::string whose = fmt::format("trial {}", Number(trial.id));
    Compare(whose, "state", Name(row.state), Name(trial.state));
    Compare(whose, "parameters", row.params, made.spec.space.Encode(trial.point));
    Compare(whose, "work", row.work, trial.work);
    Compare(whose, "target", row.target.value_or(kNoLimit), trial.target);
    CompareValue(whose, "value", row.value, trial.value);
    CompareValue(whose, "best value", row.result, trial.result);
    Compare(whose, "work of the best value", row.result_work, trial.result_work);
    Compare(whose, "launch", Number(row.launch), Number(trial.launch.id));
    Compare(whose, "number of failures", row.failures, static_cast<int>(trial.failures));
    Compare(whose, "number of reports", row.reports, static_cast<int>(trial.reports));
    Compare(whose, "time of making", Micros(row.created), Micros(trial.created));
    Compare(whose, "time of starting", Micros(row.started), Micros(trial.launch.started));
    Compare(whose, "time of ending", Micros(row.ended), Micros(trial.ended));
    Compare(whose, "time at work", row.busy.count(), trial.busy.count());
    Compare(whose, "work of the checkpoint", row.saved_work, trial.saved_work);
    Compare(whose, "size of the checkpoint", row.saved_bytes, trial.saved_bytes);
    Compare(whose, "note", row.note,
            trial.note.empty() && trial.enqueued ? std::string("enqueued") : trial.note);
    const auto attributes = attributes_.find(trial.id);
    const std::string made_of = attributes == attributes_.end() ? "{}" : attributes->second;
    const auto members = Members(row.attributes, trial);
    if (!members || members != Members(made_of, trial))
      Compare(whose, "attributes", row.attributes, made_of);
  }

  // The attributes of a trial, by name. A program may set attributes that have the names of a
  // fork's lineage. The stored value is then the program's or the engine's, whichever was written
  // last. So these two attributes are left out.
  using Attributes = std::map<std::string, std::string>;
  std::optional<Attributes> Members(const std::string& text, const Trial& trial) const {
    const auto document = JsonDocument::Read(text);
    if (!document) return std::nullopt;
    Attributes members;
    const auto all = document->object().Members();
    for (const auto& [name, value] : *all) members.emplace(name, value.Written());
    if (own_lineage_.contains(trial.id)) {
      members.erase("parent");
      members.erase("forked_at");
    }
    return members;
  }

  // Compares the number of stored reports of each trial with the trial's own count.
  Status CheckCounts(const Study& made) {
    SLUICE_ASSIGN(
        Statement query,
        database_.Prepare("SELECT trial, count(*) FROM reports WHERE study = ? GROUP BY trial"));
    query.Bind(1, static_cast<std::int64_t>(Number(study_.id)));
    std::map<TrialId, int> counts;
    while (true) {
      SLUICE_ASSIGN(const bool row, query.Step());
      if (!row) break;
      counts[TrialId(static_cast<std::uint32_t>(query.Integer(0)))] =
          static_cast<int>(query.Integer(1));
    }
    for (const Trial& trial : made.trials) {
      const auto found = counts.find(trial.id);
      Compare(fmt::format("trial {}", Number(trial.id)), "number of reports that are kept",
              found == counts.end() ? 0 : found->second, static_cast<int>(trial.reports));
    }
    return {};
  }

  Reader& reader_;
  Database& database_;
  const StudyInfo& study_;
  std::map<TrialId, std::string> attributes_;
  std::set<TrialId> own_lineage_;  // trials with a program that set `parent` or `forked_at`
  std::int64_t last_us_ = 0;       // the time of the last event or report
  std::vector<std::string> findings_;
};

}  // namespace

Result<std::vector<std::string>> AuditStudy(Reader& reader, const StudyInfo& study) {
  return Audit(reader, study).Run();
}

Result<std::string> FindDamagedPage(Reader& reader) {
  SLUICE_ASSIGN(Statement check, reader.database().Prepare("PRAGMA quick_check(1)"));
  SLUICE_ASSIGN(const bool row, check.Step());
  return row && check.Text(0) != "ok" ? std::string(check.Text(0)) : std::string();
}

Result<bool> IsChainWhole(Reader& reader) {
  SLUICE_ASSIGN(const int schema, SchemaOf(reader.database()));
  if (schema < 3) return true;
  SLUICE_ASSIGN(Statement kept, reader.database().Prepare("SELECT chain FROM store"));
  SLUICE_ASSIGN(const bool found, kept.Step());
  SLUICE_ASSIGN(const SummedUp sum, SumUp(reader.database(), {}, 0));
  return found && sum.chain == kept.Text(0);
}

Result<std::optional<OrphanRows>> FindOrphans(Reader& reader) {
  // Events may belong to no study, or to a removed study that others were replayed with.
  constexpr std::string_view kKept =
      " AND study <> 0 AND study NOT IN (SELECT json_extract(body, '$.study') FROM events WHERE "
      "study = 0 AND kind = 'study_opened')";
  for (const std::string_view table : {"events", "reports", "trials", "snapshots"}) {
    const bool replayed = table == "events" || table == "reports";
    const std::string_view kept = replayed ? kKept : " AND study <> 0";
    SLUICE_ASSIGN(Statement query,
                  reader.database().Prepare(
                      fmt::format("SELECT count(*), min(study) FROM {} WHERE study NOT IN (SELECT "
                                  "id FROM studies){}",
                                  table, kept)));
    SLUICE_TRY(query.Step());
    if (query.Integer(0) == 0) continue;
    return OrphanRows{std::string(table), query.Integer(0),
                      StudyId(static_cast<std::uint32_t>(query.Integer(1)))};
  }
  return std::nullopt;
}

}  // namespace sluice
