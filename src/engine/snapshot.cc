// The engine's whole state as bytes, and its digest.

#include <vector>

#include "base/planted.h"
#include "base/state.h"
#include "engine/engine.h"

namespace sluice {
namespace {

constexpr int kSnapshotVersion = 11;

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
};

template <typename SomeStudy, typename Visit>
void ForEachStudyField(SomeStudy& s, Visit&& visit) {
  visit(s.start_up.seconds), visit(s.start_up.count), visit(s.leave), visit(s.leave_known);
  visit(s.furthest);
  visit(s.seed), visit(s.trials_wanted), visit(s.created), visit(s.deadline), visit(s.ending),
      visit(s.finished);
  visit(s.exhausted), visit(s.asked), visit(s.answered), visit(s.enqueued), visit(s.groups),
      visit(s.group_target), visit(s.best), visit(s.checkpoint_bytes), visit(s.running);
  visit(s.waiting), visit(s.failed_starts), visit(s.hold_until), visit(s.pause);
  visit(s.over), visit(s.failed), visit(s.fruitless);
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

// Whether a study's parts are consistent, so that nothing trips over them later. What its running
// trials hold is taken off `unexplained`.
bool IsWhole(const Study& study, Cluster& unexplained) {
  constexpr std::uint64_t kMostPending = 1 << 20;
  if (!IsWhole(study.start_up) || study.leave.count() < 0 ||
      study.leave > study.spec.timeouts.grace)
    return false;
  if (study.ending > Finish::kFailures || Number(study.best) > study.trials.size()) return false;
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
        trial.saved_bytes < 0 || trial.width < 0)
      return false;
    if (trial.leave_reason < StopReason::kComplete || trial.point.size() != study.spec.space.size())
      return false;
    if (trial.by_level.size() > study.spec.sampler.levels.size()) return false;
    if (trial.parent >= trial.id || trial.copying > Copying::kAsked) return false;
    if (!trial.CanStart() && (!trial.IsFork() || trial.state != TrialState::kWaiting)) return false;
    if (__builtin_add_overflow(saved_bytes, trial.saved_bytes, &saved_bytes)) return false;
    if (trial.state == TrialState::kRunning && !unexplained.TryRelease(trial.grant)) return false;
  }
  return saved_bytes == study.checkpoint_bytes;
}

}  // namespace

std::string Engine::Save() const {
  StateWriter writer;
  writer.Put(kSnapshotVersion);
  writer.Put(draining_);
  writer.Put(now_);
  writer.Put(next_wake_);
  cluster_.Save(writer);
  speeds_.Save(writer);
  writer.Put(studies_.size());
  for (const auto& study : studies_) {
    writer.Put(study->id);
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
  reader.Get(draining_);
  reader.Get(now_);
  reader.Get(next_wake_);
  SLUICE_TRY(cluster_.Load(reader));
  SLUICE_TRY(speeds_.Load(reader));
  Cluster unexplained = cluster_;
  const std::size_t count = reader.Count();
  if (count != specs.size()) return Corruption("the snapshot is of other studies");
  for (std::size_t i = 0; i < count; ++i) {
    StudyId id{};
    reader.Get(id);
    if (id != specs[i].study) return Corruption("the snapshot is of other studies");
    Study& study = Made(specs[i]);
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
