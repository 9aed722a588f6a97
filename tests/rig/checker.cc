#include "rig/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "ledger/recovery.h"

namespace sluice {
namespace {

// The time of the last event on disk.
Result<Time> LastTime(Database& database) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare(
          "SELECT time_us FROM (SELECT * FROM"
          " (SELECT seq, time_us FROM events ORDER BY seq DESC LIMIT 1) UNION ALL SELECT * FROM"
          " (SELECT seq, time_us FROM reports ORDER BY seq DESC LIMIT 1))"
          " ORDER BY seq DESC LIMIT 1"));
  SLUICE_ASSIGN(const bool found, query.Step());
  return Time(Duration(found ? query.Integer(0) : 0));
}

// What a node's trials hold, as their grants say.
struct InUse {
  Milli cpus = 0;
  std::vector<DeviceUse> devices;
};

void Add(const Grant& grant, bool first, InUse& held) {
  // A bundle holds its devices once.
  if (first) held.cpus += grant.cpus;
  for (const DeviceId device : grant.devices) {
    DeviceUse& use = held.devices[Number(device)];
    use.memory_bytes += grant.memory_bytes;
    if (!first) continue;
    use.share += grant.gpu_share;
    use.bandwidth += grant.bandwidth;
    use.memory_bytes += grant.program_bytes;
    ++use.clients;
  }
}

}  // namespace

void Checker::Say(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

StudyChecker& Checker::Watch(StudyId study, const std::string& name) {
  const auto say = [this, name](std::string problem) {
    Say(name.empty() ? std::move(problem) : name + ": " + problem);
  };
  Watched& watched =
      watched_.try_emplace(study, StudyChecker(study, say), std::make_unique<Engine>())
          .first->second;
  watched.checker.SetShadow(watched.alone.get());
  return watched.checker;
}

int Checker::moves() const {
  return std::accumulate(watched_.begin(), watched_.end(), 0, [](int sum, const auto& each) {
    return sum + each.second.checker.moves();
  });
}

void Checker::Applied(const Engine& engine, const Event& event) {
  ++events_;
  if (engine.studies().empty()) return;  // a study is about to come
  // The clock of the controller that has taken it in may be behind that of the one before.
  const bool comes = std::holds_alternative<StudyOpened>(event.body);
  if (event.time < time_ && !comes) Say("time went back");
  time_ = event.time;
  if (!std::holds_alternative<Woken>(event.body)) ++progress_;
  for (const auto& study : engine.studies()) watched_.at(study->id).checker.Applied(engine, event);
  CheckBooks(engine);
}

void Checker::CheckBooks(const Engine& engine) {
  const std::vector<Node>& nodes = engine.cluster().nodes();
  std::vector<InUse> held(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) held[n].devices.resize(nodes[n].devices.size());
  bool as_planned = true;
  for (const auto& study : engine.studies()) {
    std::map<BundleId, int> bundles;
    as_planned = as_planned && study->measured_bytes.empty();
    for (const TrialId id : study->running) {
      const Grant& grant = study->trial(id).launch.grant;
      const std::size_t node = Number(grant.node) - 1;
      if (study->trial(id).state != TrialState::kRunning || node >= nodes.size())
        return Say("a trial that does not run is among those that do");
      if (!nodes[node].up) Say("a trial runs on a node that is down");
      Add(grant, !IsSet(grant.bundle) || ++bundles[grant.bundle] == 1, held[node]);
    }
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    bool fits = held[n].cpus <= nodes[n].cpus;
    for (std::size_t d = 0; d < held[n].devices.size(); ++d) {
      const DeviceUse& use = held[n].devices[d];
      fits = fits && use.share <= kWhole && use.bandwidth <= kWhole && use.clients <= kMostClients;
      // A process may say that it takes more memory than there is.
      if (as_planned) fits = fits && use.memory_bytes <= nodes[n].devices[d].memory_bytes;
    }
    if (!fits) Say("a device is over-committed");
    const NodeId id{static_cast<std::uint32_t>(n + 1)};
    if (engine.cluster().FreeCpus(id) != nodes[n].cpus - held[n].cpus ||
        !std::ranges::equal(engine.cluster().Used(id), held[n].devices))
      Say("the cluster's books are wrong");
  }
}

void Checker::InDoubt(Batch batch) {
  if (!batch.events.empty()) in_doubt_.push_back(std::move(batch));
}

void Checker::Durable(const Batch& batch) {
  in_doubt_.clear();  // their sequence numbers now belong to this batch
  for (const auto& [seq, event] : batch.events) {
    if (Number(seq) != Number(last_) + 1)
      return Say(fmt::format("event {} is written after event {}", Number(seq), Number(last_)));
    if (const auto* opened = std::get_if<StudyOpened>(&event.body)) {
      Watched& watched = watched_.at(opened->study);
      if (watched.alone == nullptr) return Say("a study is opened that is open");
      shared_.Open(std::move(watched.alone));
      watched.checker.SetShadow(&shared_);
    }
    // An event of the machine is about the shared engine, unless the batch is of a study alone.
    const StudyId study = IsSet(StudyOf(event.body)) ? StudyOf(event.body) : batch.study;
    const bool is_alone = IsSet(study) && watched_.at(study).alone != nullptr;
    Engine& shadow = is_alone ? *watched_.at(study).alone : shared_;
    for (const auto& its : shadow.studies())
      watched_.at(its->id).checker.BeforeWritten(shadow, event);
    (void)shadow.Apply(event);
    for (const auto& its : shadow.studies()) watched_.at(its->id).checker.Written(shadow, event);
    if (const auto* closed = std::get_if<StudyClosed>(&event.body)) {
      Watched& watched = watched_.at(closed->study);
      watched.alone = shared_.Close(closed->study);
      watched.checker.SetShadow(watched.alone.get());
    }
    last_ = seq;
  }
}

void Checker::TakeUp(Ledger& ledger) {
  // Batches of several controllers may be in doubt with the same numbers. The time of the last
  // event says which of them is on disk.
  const auto time = LastTime(ledger.database());
  if (!time) return Say(time.error().message);
  const auto is_on_disk = [&](const Batch& batch) {
    return batch.events.back().first == ledger.last() && batch.events.back().second.time == *time;
  };
  const auto found = std::ranges::find_if(in_doubt_, is_on_disk);
  if (found != in_doubt_.end()) Durable(Batch(std::move(*found)));
  if (ledger.last() != last_) {
    Say(fmt::format("the ledger ends at event {}, and {} were written", Number(ledger.last()),
                    Number(last_)));
  }
}

void Checker::Recovered(Ledger& ledger, const Engine& engine, bool in_depth) {
  TakeUp(ledger);
  if (engine.studies().empty()) return;
  const Engine& shadow = watched_.at(engine.studies().front()->id).checker.shadow();
  const std::uint64_t written = shadow.Digest();
  if (engine.Digest() != written) Say("a restart finds another state than what was written down");
  time_ = engine.now();
  for (const auto& study : engine.studies()) {
    StudyChecker& checker = watched_.at(study->id).checker;
    checker.Recovered(*study);
    checker.CheckRows(ledger.database());
    if (in_depth) checker.CheckReports(ledger.database());
  }
  if (in_depth) CheckReplay(ledger.database(), engine.studies().front()->id, written);
}

void Checker::Finished(Ledger& ledger, const Engine& alone) {
  const Study& study = *alone.studies().front();
  StudyChecker& checker = watched_.at(study.id).checker;
  checker.Finished(study);
  const std::uint64_t written = checker.shadow().Digest();
  if (alone.Digest() != written) Say("the engine is not what was written down");
  if (!alone.cluster().idle()) Say("devices are granted to no trial");
  checker.CheckReports(ledger.database());
  checker.CheckRows(ledger.database());
  CheckReplay(ledger.database(), study.id, written);
}

void Checker::CheckReplay(Database& database, StudyId study, std::uint64_t written) {
  const auto replayed = RecoverEngine(database, study, Recover::kFromEvents);
  if (!replayed) return Say(replayed.error().message);
  if ((*replayed)->Digest() != written) Say("a replay of everything ends in another state");
}

}  // namespace sluice
