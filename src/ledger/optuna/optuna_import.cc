#include "ledger/optuna/optuna_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "engine/engine.h"
#include "ledger/optuna/optuna_codec.h"
#include "ledger/optuna/optuna_space.h"
#include "ledger/optuna/optuna_study_file.h"
#include "policy/policy.h"

namespace sluice {
namespace {

// Bounded, since the engine looks at all running trials at every event.
constexpr std::size_t kMostAtOnce = 256;

bool Better(const OptunaStudy& study, double value, double than) {
  return study.direction == Direction::kMinimize ? value < than : value > than;
}

// Whether every returned value is at least as good as the trial's intermediate values.
bool CurvesHoldValues(const OptunaStudy& study) {
  for (const OptunaTrial& trial : study.trials) {
    if (trial.state != OptunaState::kComplete || !trial.value) continue;
    for (const auto& [step, value] : trial.intermediate) {
      if (Better(study, value, *trial.value)) return false;
    }
  }
  return true;
}

bool HasStepZero(const OptunaStudy& study) {
  return std::ranges::any_of(study.trials, [](const OptunaTrial& trial) {
    return !trial.intermediate.empty() && trial.intermediate.front().first == 0;
  });
}

// The beginning or the end of a trial.
struct Moment {
  Time time{};
  std::size_t trial = 0;
  bool ends = false;
};

struct History {
  std::vector<Moment> moments;
  std::size_t most_at_once = 0;
};

// Trials begin in the order of their numbers, whatever the clocks of their machines said.
History Arrange(const OptunaStudy& study, Time now) {
  History history;
  std::set<std::pair<Time, std::size_t>> running;  // by their ends
  Time latest = now;
  for (const OptunaTrial& trial : study.trials) {
    if (trial.started) latest = std::min(latest, *trial.started);
  }
  const auto end_first = [&](Time until) {
    const auto [end, trial] = *running.begin();
    running.erase(running.begin());
    history.moments.push_back({std::min(end, until), trial, /*ends=*/true});
  };
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const OptunaTrial& trial = study.trials[i];
    latest = std::clamp(trial.started.value_or(latest), latest, std::max(latest, now));
    while (!running.empty() &&
           (running.begin()->first <= latest || running.size() == kMostAtOnce)) {
      end_first(latest);
    }
    history.moments.push_back({latest, i, /*ends=*/false});
    running.emplace(std::clamp(trial.ended.value_or(latest), latest, std::max(latest, now)), i);
    history.most_at_once = std::max(history.most_at_once, running.size());
  }
  while (!running.empty()) end_first(now);
  return history;
}

// Makes the events of a study and applies each as it is made.
class Storyteller {
 public:
  Storyteller(const ImportRequest& request, const OptunaStudyFile& file, StudyId id, Engine& engine,
              Batch& batch, EventSeq last)
      : study_(request.study),
        file_(file),
        id_(id),
        engine_(engine),
        batch_(batch),
        last_(Number(last)),
        metric_(file.spec.objective.metric),
        curve_(CurvesHoldValues(study_)    ? metric_
               : metric_ == "intermediate" ? "intermediate_value"
                                           : "intermediate"),
        shift_(HasStepZero(study_) ? 1 : 0) {}

  Status Tell(const ImportRequest& request) {
    const History history = Arrange(study_, request.now);
    now_ = history.moments.front().time;
    Happen(StudyCreated{.study = id_,
                        .source = file_.text,
                        .folder = request.folder,
                        .seed = 0,
                        .spec = file_.spec});
    Happen(ControllerStarted{{Node{.name = "optuna",
                                   .cpus = static_cast<Milli>(history.most_at_once) * kWhole,
                                   .devices = {}}}});
    for (const Moment& moment : history.moments) {
      now_ = std::max(now_, moment.time);
      if (moment.ends) {
        End(moment.trial);
      } else {
        SLUICE_TRY(Begin(moment.trial));
      }
    }
    // The last change of the study is at the time of the import, whenever its trials ran.
    now_ = std::max(now_, request.now);
    Happen(Woken{});
    return {};
  }

 private:
  void Happen(decltype(Event::body) body) {
    batch_.events.emplace_back(EventSeq(++last_), Event{now_, std::move(body)});
    (void)engine_.Apply(batch_.events.back().second);
  }

  Status Begin(std::size_t index) {
    const OptunaTrial& trial = study_.trials[index];
    Point point(file_.names.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < point.size(); ++i) {
      const auto value = trial.params.find(study_.parameters[i].name);
      if (value == trial.params.end()) continue;
      point[i] = NumberOf(file_.spec.space, i, value->second);
      // A waiting trial may have been enqueued with values outside of every range.
      if (!std::isnan(point[i]) || trial.state == OptunaState::kWaiting) continue;
      return Corruption(fmt::format("study '{}': trial {}: {}: {} is not in its range", study_.name,
                                    index, value->first, FormatValue(value->second)));
    }
    Happen(Proposed{.study = id_, .counter = index, .point = std::move(point)});
    return {};
  }

  void Report(TrialKey key, Work work, const std::string& metric, double value) {
    Happen(Reported{.trial = key,
                    .launch = LaunchId{1},
                    .position = {.seq = ++message_},
                    .work = work,
                    .metrics = {{metric, value}}});
  }

  void End(std::size_t index) {
    const OptunaTrial& trial = study_.trials[index];
    const TrialKey key{id_, TrialId(static_cast<std::uint32_t>(index + 1))};
    message_ = 0;
    const bool in_curve = ReportAll(key, trial);
    if (trial.attributes != "{}") {
      Happen(AttributesSet{.trial = key,
                           .launch = LaunchId{1},
                           .position = {.seq = ++message_},
                           .attributes = trial.attributes});
    }
    const std::string note = NoteOf(trial);
    // An empty note is written too where it must replace the engine's own note (that a report lacks
    // the objective).
    if (!note.empty() || (!in_curve && !trial.intermediate.empty())) {
      Happen(TrialNoted{
          .trial = key, .launch = LaunchId{1}, .position = {.seq = ++message_}, .note = note});
    }
    const bool stopped = trial.state != OptunaState::kComplete && trial.state != OptunaState::kFail;
    const bool failed = trial.state == OptunaState::kFail;
    Happen(LaunchEnded{.trial = key,
                       .launch = LaunchId{1},
                       .position = {.seq = ++message_},
                       .ending = stopped  ? Ending::kStopped
                                 : failed ? Ending::kFailed
                                          : Ending::kDone,
                       .reason = failed ? note : ""});
  }

  // Reports the values of a trial. Returns whether its intermediate values are reports of the
  // objective.
  bool ReportAll(TrialKey key, const OptunaTrial& trial) {
    const bool in_curve = curve_ == metric_;
    double best = std::numeric_limits<double>::quiet_NaN();
    Work work = 0;
    for (const auto& [step, value] : trial.intermediate) {
      work = step + shift_;
      Report(key, work, curve_, value);
      if (std::isnan(best) || Better(study_, value, best)) best = value;
    }
    const bool told = in_curve && best == trial.value;
    const bool returned = trial.state == OptunaState::kComplete ||
                          (trial.state == OptunaState::kPruned && trial.intermediate.empty());
    if (returned && trial.value && !told) Report(key, work + 1, metric_, *trial.value);
    return in_curve;
  }

  static std::string NoteOf(const OptunaTrial& trial) {
    if (trial.state == OptunaState::kRunning) return "was running in Optuna when it was imported";
    if (trial.state == OptunaState::kWaiting) return "was waiting in Optuna when it was imported";
    if (const auto attributes = DecodeValues(trial.attributes)) {
      const auto note = attributes->find("note");
      if (note != attributes->end() && std::holds_alternative<std::string>(note->second))
        return std::get<std::string>(note->second);
    }
    return trial.state == OptunaState::kFail ? "failed in Optuna" : "";
  }

  const OptunaStudy& study_;
  const OptunaStudyFile& file_;
  const StudyId id_;
  Engine& engine_;
  Batch& batch_;
  std::uint64_t last_;
  const std::string metric_;
  const std::string curve_;  // the metric of intermediate values
  const Work shift_;
  Time now_{};
  std::uint64_t message_ = 0;  // the number of the present trial's last message
};

}  // namespace

Result<ImportedStudy> ImportOptunaStudy(Ledger& ledger, const ImportRequest& request) {
  SLUICE_ASSIGN(const StudyId taken, StudyNamed(ledger.database(), request.name));
  if (IsSet(taken)) {
    return FailedPrecondition(
        fmt::format("a study '{0}' is in {1} already: choose another name with --name, or remove "
                    "it by 'sluice delete {0}'",
                    request.name, ledger.database().path()));
  }
  SLUICE_ASSIGN(const OptunaStudyFile file, MakeStudyFile(request.study, request.name));
  SLUICE_ASSIGN(const StudyId id, NextStudyId(ledger.database()));
  Engine engine;
  Batch batch;
  batch.study = id;
  SLUICE_TRY(Storyteller(request, file, id, engine, batch, ledger.last()).Tell(request));
  const Study& study = *engine.study(id);
  for (const Trial& trial : study.trials)
    batch.trials.push_back({id, trial, study.spec.space.Encode(trial.point)});
  batch.studies.push_back(RowOf(study));
  batch.snapshots.push_back(SnapshotOf(engine, id, batch.events.back().first));
  SLUICE_TRY(ledger.Commit(batch));

  ImportedStudy imported{.row = batch.studies.front(), .renamed = {}};
  for (std::size_t i = 0; i < file.names.size(); ++i) {
    const std::string& there = request.study.parameters[i].name;
    if (there != file.names[i]) imported.renamed.emplace_back(there, file.names[i]);
  }
  return imported;
}

}  // namespace sluice
