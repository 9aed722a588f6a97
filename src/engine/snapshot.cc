// The engine's whole state as bytes, and its digest.

#include <algorithm>
#include <map>
#include <vector>

#include "base/fields.h"
#include "base/planted.h"
#include "base/state.h"
#include "engine/engine.h"

namespace sluice {
namespace {

constexpr int kSnapshotVersion = 15;

struct Saver {
  StateWriter& writer;
  template <typename T>
  void operator()(const T& value) {
    writer.Put(value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    writer.Put(values.size());
    for (const T& value : values) writer.Put(value);
  }
  template <typename Key, typename T>
  void operator()(const std::map<Key, T>& values) {
    writer.Put(values.size());
    for (const auto& [key, value] : values) {
      writer.Put(key);
      writer.Put(value);
    }
  }
};

struct Loader {
  StateReader& reader;
  template <typename T>
  void operator()(T& value) {
    reader.Get(value);
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    values.resize(reader.Count());
    for (T& value : values) reader.Get(value);
  }
  template <typename Key, typename T>
  void operator()(std::map<Key, T>& values) {
    for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
      Key key{};
      reader.Get(key);
      reader.Get(values[key]);
    }
  }
};

// Calls visit on the fields of a study that nothing else in the snapshot determines, in the order
// of the snapshot. A field that is missing here is a compile error.
template <typename SomeStudy, typename Visit>
void ForEachStudyField(SomeStudy& s, Visit&& visit) {
  // Not listed are
  //   - `spec`, `source`, `folder`, `rules`, `tells_budget` and `typical_work`, which follow from
  //     how the study was created;
  //   - `demand`, which follows from the spec and `measured_bytes`;
  //   - `counts`, `saved`, `forks` and what it holds (`use.held`), which follow from its trials;
  //   - `policy`, which follows from the spec;
  //   - `id`, `trials`, `queue`, `stopper` and `forecasts`, which Save writes itself;
  //   - `has_enough_room` and `declined`, which count only while a plan is made.
  // `start_up`, `launch_took` and `use` are listed by their fields.
  constexpr std::size_t kFields =
      kFieldsOf<Study> + std::size_t{2} * kFieldsOf<Price> + kFieldsOf<Use> - std::size_t{22};
  VisitFields<kFields>(
      visit, s.start_up.seconds, s.start_up.count, s.leave, s.leave_known, s.furthest, s.seed,
      s.trials_wanted, s.created, s.deadline, s.ending, s.finished, s.exhausted, s.asked,
      s.answered, s.enqueued, s.groups, s.group_target, s.best, s.checkpoint_bytes, s.running,
      s.waiting, s.failed_starts, s.hold_until, s.pause, s.over, s.failed, s.fruitless, s.capacity,
      s.several_shapes, s.measured_bytes, s.memory_is_inherited, s.hidden, s.paused, s.replan,
      s.wake, s.use.had, s.use.since, s.use.wanted, s.launch_took.seconds, s.launch_took.count);
}

std::unexpected<Error> Unreadable() { return Corruption("a snapshot does not read back"); }

// Whether the list names every trial in this state, each once.
bool Lists(const std::vector<TrialId>& ids, const Study& study, TrialState state) {
  std::vector<bool> seen(study.trials.size());
  for (TrialId id : ids) {
    if (!IsSet(id) || Number(id) > study.trials.size() || seen[Number(id) - 1]) return false;
    if (study.trial(id).state != state) return false;
    seen[Number(id) - 1] = true;
  }
  return ids.size() == static_cast<std::size_t>(study.count(state));
}

bool IsWhole(const Price& price) {
  constexpr double kLongest = 1e9;
  return price.seconds >= 0 && price.seconds < kLongest && price.count >= 0 &&
         price.count <= Price::kMemory;
}

// Whether a study's parts are consistent, so that later code can rely on them. Subtracts what the
// study's running trials hold from `unexplained`, and adds it up in the study: the cluster's
// resources that are in use, and that no trial read so far accounts for.
bool IsWhole(Study& study, Cluster& unexplained) {
  constexpr std::uint64_t kMostPending = 1 << 20;
  if (!(study.use.had >= 0) || !IsWhole(study.launch_took) || !IsWhole(study.start_up) ||
      study.leave.count() < 0 || study.leave > study.spec.timeouts.grace)
    return false;
  if (study.capacity < 0) return false;
  for (const auto& [trials, bytes] : study.measured_bytes) {
    if (trials < 1 || bytes <= 0) return false;
  }
  if (study.ending > Finish::kNoLeader || Number(study.best) > study.trials.size()) return false;
  if (study.asked < study.answered || study.asked - study.answered > kMostPending) return false;
  if (!Lists(study.running, study, TrialState::kRunning) ||
      !Lists(study.waiting, study, TrialState::kWaiting))
    return false;
  if (study.forecasts.size() > study.trials.size()) return false;
  for (const Point& point : study.queue) {
    if (point.size() != study.spec.space.size()) return false;
  }
  std::int64_t saved_bytes = 0;
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const Trial& trial = study.trials[i];
    if (Number(trial.id) != i + 1 || trial.leave_reason > StopReason::kDrain ||
        trial.saved_bytes < 0 || trial.width < 0 || trial.launch.capacity < 0)
      return false;
    if (trial.leave_reason < StopReason::kComplete || trial.point.size() != study.spec.space.size())
      return false;
    if (trial.by_level.size() > study.spec.sampler.levels.size()) return false;
    if (trial.parent >= trial.id || trial.copying > Copying::kAsked) return false;
    if (!trial.CanStart() && (!trial.IsFork() || trial.state != TrialState::kWaiting)) return false;
    if (__builtin_add_overflow(saved_bytes, trial.saved_bytes, &saved_bytes)) return false;
    if (trial.state != TrialState::kRunning) continue;
    if (!unexplained.TryRelease(trial.launch.grant)) return false;
    if (unexplained.BundleSize(trial.launch.grant.bundle) == 0)
      study.use.held += HeldWith(trial.launch.grant);
  }
  return saved_bytes == study.checkpoint_bytes;
}

}  // namespace

std::vector<StudyId> Engine::StudiesIn(std::string_view bytes) {
  StateReader reader(bytes);
  int version = 0;
  std::vector<StudyId> ids;
  reader.Get(version);
  if (version == kSnapshotVersion) Loader{reader}(ids);
  return reader.ok() ? ids : std::vector<StudyId>();
}

std::string Engine::Save() const {
  StateWriter writer;
  writer.Put(kSnapshotVersion);
  std::vector<StudyId> ids;
  for (const auto& study : state_.studies) ids.push_back(study->id);
  Saver{writer}(ids);
  writer.Put(state_.draining);
  writer.Put(state_.now);
  writer.Put(state_.next_wake);
  state_.cluster.Save(writer);
  state_.speeds.Save(writer);
  for (const auto& study : state_.studies) {
    ForEachStudyField(*study, Saver{writer});
    writer.Put(study->trials.size());
    for (const Trial& trial : study->trials) ForEachField(trial, Saver{writer});
    writer.Put(study->queue.size());
    for (const Point& point : study->queue) Saver{writer}(point);
    if (!Planted("forgotten-rungs")) study->stopper->Save(writer);
    study->forecasts.Save(writer);
  }
  return writer.Take();
}

Status Engine::Load(std::string_view bytes, std::vector<StudyCreated> specs) {
  StateReader reader(bytes);
  int version = 0;
  reader.Get(version);
  if (version != kSnapshotVersion) return Corruption("the snapshot is of another version");
  std::vector<StudyId> ids;
  Loader{reader}(ids);
  if (!std::ranges::equal(ids, specs, {}, {}, &StudyCreated::study))
    return Corruption("the snapshot is of other studies");
  reader.Get(state_.draining);
  reader.Get(state_.now);
  reader.Get(state_.next_wake);
  SLUICE_TRY(state_.cluster.Load(reader));
  SLUICE_TRY(state_.speeds.Load(reader));
  Cluster unexplained = state_.cluster;
  for (const StudyCreated& spec : specs) {
    Study& study = state_.AddStudy(spec);
    ForEachStudyField(study, Loader{reader});
    for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
      Trial& trial = study.trials.emplace_back();
      ForEachField(trial, Loader{reader});
      if (static_cast<std::size_t>(trial.state) >= kTrialStates) return Unreadable();
      ++study.counts[static_cast<std::size_t>(trial.state)];
      if (trial.saved_bytes != 0) study.saved.insert(trial.id);
      study.forks += trial.IsFork() ? 1 : 0;
    }
    for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left)
      Loader{reader}(study.queue.emplace_back());
    if (!Planted("forgotten-rungs")) SLUICE_TRY(study.stopper->Load(reader));
    SLUICE_TRY(study.forecasts.Load(reader));
    if (!reader.ok() || !IsWhole(study, unexplained)) return Unreadable();
    study.demand = CorrectedByMemory(study.spec.demand, study.measured_bytes);
  }
  if (!unexplained.idle()) return Unreadable();
  return reader.Finish();
}

std::uint64_t Engine::Digest() const {
  sluice::Digest digest;
  digest.Add(std::string_view(Save()));
  return digest.Value();
}

}  // namespace sluice
