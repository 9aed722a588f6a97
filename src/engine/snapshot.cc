// The engine's whole state as bytes, and its digest.

#include <vector>

#include "base/state.h"
#include "engine/engine.h"

namespace sluice {
namespace {

constexpr int kSnapshotVersion = 1;

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
  visit(s.seed), visit(s.trials_wanted), visit(s.created), visit(s.deadline), visit(s.ending), visit(s.finished);
  visit(s.exhausted), visit(s.asked), visit(s.answered), visit(s.groups), visit(s.best), visit(s.checkpoint_bytes), visit(s.running);
  visit(s.waiting);
}

}  // namespace

std::string Engine::Save() const {
  StateWriter writer;
  writer.Put(kSnapshotVersion);
  writer.Put(draining_);
  writer.Put(now_);
  writer.Put(next_wake_);
  cluster_.Save(writer);
  writer.Put(studies_.size());
  for (const auto& study : studies_) {
    writer.Put(study->id);
    ForEachStudyField(*study, Saver{writer});
    writer.Put(study->trials.size());
    for (const Trial& trial : study->trials) ForEachField(trial, Saver{writer});
    study->stopper->Save(writer);
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
  cluster_.Load(reader);
  const std::size_t count = reader.Count();
  if (count != specs.size()) return Corruption("the snapshot is of other studies");
  for (std::size_t i = 0; i < count; ++i) {
    StudyId id{};
    reader.Get(id);
    if (id != specs[i].study) return Corruption("the snapshot is of other studies");
    Study& study = Made(specs[i]);
    ForEachStudyField(study, Loader{reader});
    study.trials.resize(reader.Count());
    for (Trial& trial : study.trials) {
      ForEachField(trial, Loader{reader});
      if (static_cast<std::size_t>(trial.state) >= kTrialStates) return Corruption("a snapshot does not read back");
      ++study.counts[static_cast<std::size_t>(trial.state)];
    }
    SLUICE_TRY(study.stopper->Load(reader));
  }
  return reader.Finish();
}

std::uint64_t Engine::Digest() const {
  sluice::Digest digest;
  digest.Add(std::string_view(Save()));
  return digest.Value();
}

}  // namespace sluice
