#include "ledger/recovery.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>

#include "base/planted.h"
#include "ledger/event_codec.h"
#include "ledger/openings.h"

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
  report.trial = {study, TrialId(static_cast<std::uint32_t>(row.Integer(3)))};
  report.launch = LaunchId(static_cast<std::uint32_t>(row.Integer(4)));
  report.position.seq = static_cast<std::uint64_t>(row.Integer(5));
  report.position.offset = static_cast<std::uint64_t>(row.Integer(6));
  report.work = row.Integer(7);
  SLUICE_ASSIGN(report.metrics, DecodeMetrics(row.Text(8)));
  return report;
}

std::int64_t Bound(EventSeq seq) {
  return IsSet(seq) ? static_cast<std::int64_t>(Number(seq))
                    : std::numeric_limits<std::int64_t>::max();
}

// The events and reports of one study, or of all, merged in order: those after event `from` and
// before event `until`.
class WrittenEvents {
 public:
  // `study` 0: of all. The unary plus keeps SQLite from using an index that is in another order.
  // With such an index SQLite would read all events of the study.
  static Result<WrittenEvents> Of(Database& database, StudyId study, EventSeq from,
                                  EventSeq until) {
    constexpr std::string_view kWhere =
        "WHERE seq > ?1 AND seq < ?2 AND (?3 = 0 OR +study = ?3) ORDER BY seq";
    WrittenEvents history;
    SLUICE_ASSIGN(history.events_,
                  database.Prepare(fmt::format(
                      "SELECT seq, study, time_us, kind, body FROM events {}", kWhere)));
    SLUICE_ASSIGN(history.reports_,
                  database.Prepare(fmt::format("SELECT seq, study, time_us, trial, launch, "
                                               "message, output_offset, work, metrics FROM "
                                               "reports {}",
                                               kWhere)));
    for (Statement* query : {&history.events_, &history.reports_}) {
      query->Bind(1, static_cast<std::int64_t>(Number(from))).Bind(2, Bound(until));
      query->Bind(3, static_cast<std::int64_t>(Number(study)));
    }
    SLUICE_ASSIGN(history.more_events_, history.events_.Step());
    SLUICE_ASSIGN(history.more_reports_, history.reports_.Step());
    return history;
  }

  bool over() const { return !more_events_ && !more_reports_; }
  // Of the event that is next.
  EventSeq seq() const { return EventSeq(static_cast<std::uint64_t>(row().Integer(0))); }
  StudyId owner() const { return StudyId(static_cast<std::uint32_t>(row().Integer(1))); }
  bool Creates() const { return IsEvent() && events_.Text(3) == "study_created"; }
  Result<Event> event() const {
    const Time time = FromMicros(row().Integer(2));
    if (IsEvent()) return DecodeEvent(time, owner(), events_.Text(3), events_.Text(4));
    SLUICE_ASSIGN(Reported report, ReadReport(owner(), reports_));
    return Event{time, std::move(report)};
  }
  Status Next() {
    const bool is_event = IsEvent();
    SLUICE_ASSIGN(bool more, (is_event ? events_ : reports_).Step());
    (is_event ? more_events_ : more_reports_) = more;
    return {};
  }

 private:
  bool IsEvent() const {
    return more_events_ && (!more_reports_ ||
                            (events_.Integer(0) < reports_.Integer(0) && !Planted("replay-order")));
  }
  const Statement& row() const { return IsEvent() ? events_ : reports_; }

  Statement events_, reports_;
  bool more_events_ = false;
  bool more_reports_ = false;
};

// Applies what happened to a study while it was alone, and returns the number of events.
Result<std::int64_t> ReplayAlone(Database& database, StudyId study, EventSeq from, EventSeq until,
                                 Engine& engine) {
  SLUICE_ASSIGN(WrittenEvents history, WrittenEvents::Of(database, study, from, until));
  std::int64_t replayed = 0;
  for (; !history.over(); ++replayed) {
    SLUICE_ASSIGN(const Event event, history.event());
    (void)engine.Apply(event);
    SLUICE_TRY(history.Next());
  }
  (void)engine.TakeChanged();
  return replayed;
}

// The study as its file said at first, with the changes up to event `until`.
Result<StudyCreated> CreatedUntil(Database& database, StudyId study, EventSeq until) {
  SLUICE_ASSIGN(Creation created, FindCreation(database, study));
  auto changed = std::get<StudyCreated>(std::move(created.event.body));
  SLUICE_TRY(ApplyChanges(database, study, until, changed.spec));
  return changed;
}

struct Loaded {
  std::unique_ptr<Engine> engine;  // null: there is no snapshot that can be loaded
  EventSeq seq{};
};

// Loads the snapshot of a study, or of the shared engine (0).
Result<Loaded> LoadSnapshot(Database& database, StudyId study) {
  SLUICE_ASSIGN(Statement query,
                database.Prepare("SELECT seq, digest, state FROM snapshots WHERE study = ?"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  SLUICE_ASSIGN(const bool found, query.Step());
  if (!found) return Loaded{};
  const std::string_view state = query.Blob(2);
  if (ToHex(Digest().Add(state).Value()) != query.Text(1)) return Loaded{};
  const auto seq = EventSeq(static_cast<std::uint64_t>(query.Integer(0)));
  std::vector<StudyCreated> specs;
  for (const StudyId id : Engine::StudiesIn(state)) {
    auto created = CreatedUntil(database, id, seq);
    if (!created) return Loaded{};
    specs.push_back(std::move(*created));
  }
  auto engine = std::make_unique<Engine>();
  if (!engine->Load(state, std::move(specs))) return Loaded{};
  return Loaded{std::move(engine), seq};
}

// The engine of a study that is alone at event `until` (0: now), without replaying what it shared
// with others. Null if that is not possible: its snapshot is of another time, or cannot be loaded.
Result<std::unique_ptr<Engine>> RecoverAlone(Database& database, StudyId study, EventSeq until,
                                             const Openings& openings, Recover how,
                                             std::int64_t& replayed) {
  SLUICE_ASSIGN(const Creation created, FindCreation(database, study));
  if (how == Recover::kFromSnapshot) {
    SLUICE_ASSIGN(Loaded loaded, LoadSnapshot(database, study));
    const bool of_this_time = loaded.seq >= openings.Last(study) && Number(loaded.seq) > 0 &&
                              (!IsSet(until) || loaded.seq < until);
    if (loaded.engine != nullptr && of_this_time && loaded.engine->study(study) != nullptr) {
      SLUICE_ASSIGN(replayed, ReplayAlone(database, study, loaded.seq, until, *loaded.engine));
      return std::move(loaded.engine);
    }
  }
  if (openings.WasOpened(study)) return nullptr;
  auto engine = std::make_unique<Engine>();
  (void)engine->Apply(created.event);
  SLUICE_ASSIGN(replayed, ReplayAlone(database, study, created.seq, until, *engine));
  ++replayed;
  return engine;
}

// Replays the engine that studies share, and the studies that come from it and go into it.
class Replayer {
 public:
  // Replays only these studies.
  Replayer(Database& database, std::unique_ptr<Engine> shared, std::set<StudyId> only)
      : database_(database), shared_(std::move(shared)), only_(std::move(only)) {}

  // Applies all events after `from`. Returns false if a study came that cannot be recovered without
  // replaying what was before `from`.
  Result<bool> Run(EventSeq from) {
    SLUICE_ASSIGN(WrittenEvents history, WrittenEvents::Of(database_, {}, from, {}));
    while (!history.over()) {
      SLUICE_ASSIGN(const bool came, Take(history, /*partly=*/IsSet(from)));
      if (!came) return false;
      SLUICE_TRY(history.Next());
    }
    (void)shared_->TakeChanged();
    return true;
  }

  std::int64_t replayed() const { return replayed_; }
  std::unique_ptr<Engine> TakeShared() { return std::move(shared_); }
  std::unique_ptr<Engine> TakeAlone(StudyId study) { return std::move(alone_[study]); }

 private:
  Result<bool> Take(const WrittenEvents& history, bool partly) {
    const StudyId owner = history.owner();
    if (IsSet(owner) && IsLeftOut(owner)) return true;
    if (history.Creates()) alone_[owner] = std::make_unique<Engine>();
    Engine* const engine = EngineOf(owner);
    if (engine == nullptr) return true;
    SLUICE_ASSIGN(const Event event, history.event());
    if (!IsSet(owner) && IsOfOthers(event)) return true;
    if (const auto* opened = std::get_if<StudyOpened>(&event.body)) {
      SLUICE_ASSIGN(const bool came, Open(opened->study, history.seq(), partly));
      if (!came) return false;
    }
    const auto* closed = std::get_if<StudyClosed>(&event.body);
    if (closed != nullptr && !MayClose(closed->study)) {
      return Corruption(fmt::format("{}: study {} was closed, but it was not there, or ran",
                                    database_.path(), Number(closed->study)));
    }
    (void)engine->Apply(event);
    if (closed != nullptr) alone_[closed->study] = shared_->Close(closed->study);
    ++replayed_;
    return true;
  }

  bool MayClose(StudyId id) const {
    const Study* const study = shared_->study(id);
    return study != nullptr && study->running.empty();
  }

  bool IsLeftOut(StudyId study) const { return !only_.contains(study); }

  // Whether this event, which belongs to no study, is of the time in which studies that are left
  // out were in the engine.
  bool IsOfOthers(const Event& event) {
    if (const auto* opened = std::get_if<StudyOpened>(&event.body)) {
      if (!IsLeftOut(opened->study)) return false;
      others_.insert(opened->study);
      return true;
    }
    const auto* closed = std::get_if<StudyClosed>(&event.body);
    if (closed == nullptr || !others_.contains(closed->study)) return !others_.empty();
    others_.erase(closed->study);
    if (others_.empty()) shared_->BeginAnew();
    return true;
  }

  Engine* EngineOf(StudyId owner) {
    if (!IsSet(owner) || shared_->study(owner) != nullptr) return shared_.get();
    const auto found = alone_.find(owner);
    return found == alone_.end() ? nullptr : found->second.get();
  }

  Result<bool> Open(StudyId study, EventSeq seq, bool partly) {
    std::unique_ptr<Engine> engine = TakeAlone(study);
    if (engine == nullptr && partly) {
      SLUICE_ASSIGN(const Openings openings, Openings::Read(database_, seq));
      std::int64_t replayed = 0;
      SLUICE_ASSIGN(
          engine, RecoverAlone(database_, study, seq, openings, Recover::kFromSnapshot, replayed));
      replayed_ += replayed;
    }
    if (engine == nullptr && partly) return false;
    if (engine == nullptr || engine->study(study) == nullptr || shared_->study(study) != nullptr) {
      return Corruption(fmt::format("{}: study {} was opened, but its beginning is not there",
                                    database_.path(), Number(study)));
    }
    shared_->Open(std::move(engine));
    return true;
  }

  Database& database_;
  std::unique_ptr<Engine> shared_;
  std::set<StudyId> only_;
  std::map<StudyId, std::unique_ptr<Engine>> alone_;
  std::set<StudyId> others_;  // that are left out, and are in the engine now
  std::int64_t replayed_ = 0;
};

void Set(std::int64_t* replayed, std::int64_t count) {
  if (replayed != nullptr) *replayed = count;
}

}  // namespace

Result<std::unique_ptr<Engine>> RecoverShared(Database& database, Recover how,
                                              std::int64_t* replayed) {
  SLUICE_ASSIGN(const Openings openings, Openings::Read(database));
  Set(replayed, 0);
  if (openings.open().empty()) return std::make_unique<Engine>();
  if (how == Recover::kFromSnapshot) {
    SLUICE_ASSIGN(Loaded loaded, LoadSnapshot(database, {}));
    if (loaded.engine != nullptr) {
      // Other studies may have been removed since, with their events.
      std::set<StudyId> only;
      for (const auto& study : loaded.engine->studies())
        only.merge(openings.CompanionsOf(study->id));
      for (const StudyId study : openings.open()) only.merge(openings.CompanionsOf(study));
      Replayer replayer(database, std::move(loaded.engine), std::move(only));
      SLUICE_ASSIGN(const bool whole, replayer.Run(loaded.seq));
      Set(replayed, replayer.replayed());
      if (whole) return replayer.TakeShared();
    }
  }
  std::set<StudyId> only;
  for (const StudyId study : openings.open()) only.merge(openings.CompanionsOf(study));
  Replayer replayer(database, std::make_unique<Engine>(), std::move(only));
  SLUICE_TRY(replayer.Run({}));
  Set(replayed, replayer.replayed());
  return replayer.TakeShared();
}

Result<std::unique_ptr<Engine>> RecoverEngine(Database& database, StudyId study, Recover how,
                                              std::int64_t* replayed) {
  SLUICE_ASSIGN(const Openings openings, Openings::Read(database));
  if (openings.IsOpen(study)) return RecoverShared(database, how, replayed);
  std::int64_t count = 0;
  SLUICE_ASSIGN(auto engine, RecoverAlone(database, study, {}, openings, how, count));
  Set(replayed, count);
  if (engine != nullptr) return engine;
  Replayer replayer(database, std::make_unique<Engine>(), openings.CompanionsOf(study));
  SLUICE_TRY(replayer.Run({}));
  Set(replayed, replayer.replayed());
  engine = replayer.TakeAlone(study);
  (void)engine->TakeChanged();
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
