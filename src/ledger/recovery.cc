#include "ledger/recovery.h"

#include <fmt/format.h>

#include "base/planted.h"
#include "ledger/event_codec.h"
#include "policy/policy.h"

namespace sluice {

Result<Creation> FindCreation(Database& database, StudyId study) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare("SELECT seq, time_us, kind, body FROM events WHERE study = ? AND kind = "
                       "'study_created'"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  SLUICE_ASSIGN(const bool found, query.Step());
  if (!found)
    return Corruption(fmt::format("{}: study {} has no beginning", database.path(), Number(study)));
  SLUICE_ASSIGN(Event event,
                DecodeEvent(FromMicros(query.Integer(1)), study, query.Text(2), query.Text(3)));
  return Creation{EventSeq(static_cast<std::uint64_t>(query.Integer(0))), std::move(event)};
}

namespace {

// Applies the changes of the spec up to event `until`. They are read from the events, because a
// snapshot holds no spec.
Status ApplyChanges(Database& database, StudyId study, EventSeq until, StudySpec& spec) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare("SELECT time_us, kind, body FROM events WHERE study = ? AND kind = "
                       "'study_resumed' AND seq <= ? ORDER BY seq"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)))
      .Bind(2, static_cast<std::int64_t>(Number(until)));
  while (true) {
    SLUICE_ASSIGN(const bool found, query.Step());
    if (!found) return {};
    SLUICE_ASSIGN(const Event event,
                  DecodeEvent(FromMicros(query.Integer(0)), study, query.Text(1), query.Text(2)));
    const auto& resumed = std::get<StudyResumed>(event.body);
    if (resumed.change) Apply(*resumed.change, spec);
  }
}

Result<Reported> ReadReport(StudyId study, const Statement& row) {
  Reported report;
  report.trial = {study, TrialId(static_cast<std::uint32_t>(row.Integer(2)))};
  report.launch = LaunchId(static_cast<std::uint32_t>(row.Integer(3)));
  report.position.seq = static_cast<std::uint64_t>(row.Integer(4));
  report.position.offset = static_cast<std::uint64_t>(row.Integer(5));
  report.work = row.Integer(6);
  SLUICE_ASSIGN(report.metrics, DecodeMetrics(row.Text(7)));
  return report;
}

// Applies all events and reports after event `from`, merged in order, and returns their number. The
// unary plus keeps SQLite from using an index that is in another order. With such an index SQLite
// would read all events of the study.
Result<std::int64_t> Replay(Database& database, StudyId study, EventSeq from, Engine& engine) {
  const auto id = static_cast<std::int64_t>(Number(study));
  const auto after = static_cast<std::int64_t>(Number(from));
  SLUICE_ASSIGN(
      Statement events,
      database.Prepare("SELECT seq, time_us, kind, body FROM events WHERE seq > ? AND +study = ? "
                       "ORDER BY seq"));
  SLUICE_ASSIGN(
      Statement reports,
      database.Prepare(
          "SELECT seq, time_us, trial, launch, message, output_offset, work, metrics FROM reports "
          "WHERE seq > ? AND +study = ? ORDER BY seq"));
  events.Bind(1, after).Bind(2, id);
  reports.Bind(1, after).Bind(2, id);
  SLUICE_ASSIGN(bool more_events, events.Step());
  SLUICE_ASSIGN(bool more_reports, reports.Step());
  std::int64_t replayed = 0;
  for (; more_events || more_reports; ++replayed) {
    if (more_events &&
        (!more_reports || (events.Integer(0) < reports.Integer(0) && !Planted("replay-order")))) {
      SLUICE_ASSIGN(const Event event, DecodeEvent(FromMicros(events.Integer(1)), study,
                                                   events.Text(2), events.Text(3)));
      (void)engine.Apply(event);
      SLUICE_ASSIGN(more_events, events.Step());
    } else {
      SLUICE_ASSIGN(Reported report, ReadReport(study, reports));
      (void)engine.Apply({FromMicros(reports.Integer(1)), std::move(report)});
      SLUICE_ASSIGN(more_reports, reports.Step());
    }
  }
  (void)engine.TakeChanged();
  return replayed;
}

}  // namespace

Result<std::unique_ptr<Engine>> RecoverEngine(Database& database, StudyId study, Recover how,
                                              std::int64_t* replayed) {
  SLUICE_ASSIGN(const Creation created, FindCreation(database, study));
  auto engine = std::make_unique<Engine>();
  std::int64_t since = 0;
  if (how == Recover::kFromSnapshot) {
    SLUICE_ASSIGN(Statement query,
                  database.Prepare("SELECT seq, digest, state FROM snapshots WHERE study = ?"));
    query.Bind(1, static_cast<std::int64_t>(Number(study)));
    SLUICE_ASSIGN(const bool found, query.Step());
    if (found) {
      const std::string_view state = query.Blob(2);
      Digest digest;
      digest.Add(state);
      const bool whole = ToHex(digest.Value()) == query.Text(1);
      const auto seq = EventSeq(static_cast<std::uint64_t>(query.Integer(0)));
      StudyCreated changed = created.body();
      SLUICE_TRY(ApplyChanges(database, study, seq, changed.spec));

      if (whole && engine->Load(state, {changed})) {
        SLUICE_ASSIGN(since, Replay(database, study, seq, *engine));
        if (replayed != nullptr) *replayed = since;
        return engine;
      }
      engine = std::make_unique<Engine>();
    }
  }
  (void)engine->Apply(created.event);
  SLUICE_ASSIGN(since, Replay(database, study, created.seq, *engine));
  if (replayed != nullptr) *replayed = 1 + since;
  return engine;
}

Result<std::vector<Observation>> ReadKnowledge(Database& database, const Study& study) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare("SELECT time_us, kind, body FROM events WHERE study = ? AND kind = "
                       "'knowledge_given' ORDER BY seq"));
  query.Bind(1, static_cast<std::int64_t>(Number(study.id)));
  std::vector<Observation> observations;
  while (true) {
    SLUICE_ASSIGN(const bool found, query.Step());
    if (!found) return observations;
    SLUICE_ASSIGN(Event event, DecodeEvent(FromMicros(query.Integer(0)), study.id, query.Text(1),
                                           query.Text(2)));
    for (KnownTrial& trial : std::get<KnowledgeGiven>(event.body).trials) {
      if (!study.spec.space.Contains(trial.point)) {
        return Corruption(
            fmt::format("{}: an earlier trial given to study '{}' is not in the study's space",
                        database.path(), study.spec.name));
      }
      const auto number = static_cast<std::uint32_t>(observations.size());
      observations.push_back({.trial = TrialId(Number(kFirstKnownTrial) + number),
                              .point = std::move(trial.point),
                              .outcome = trial.outcome,
                              .work = trial.work,
                              .value = study.spec.objective.Loss(trial.value)});
    }
  }
}

}  // namespace sluice
