// What the users of a world do: they stop, retry, enqueue, interrupt, and edit the study's file.

#include <algorithm>

#include "ledger/openings.h"
#include "ledger/recovery.h"
#include "rig/fault_life.h"
#include "rig/fault_world.h"

namespace sluice {

TrialId FaultWorld::AnyTrial() {
  const auto& trials = study().trials;
  if (trials.empty() || random_.Chance(0.1)) return TrialId(random_.Chance(0.5) ? 0 : 1'000'000);
  std::size_t chosen = random_.Below(trials.size());
  // Users mostly choose trials that got far before they were stopped.
  for (int looks = 0; looks < 20; ++looks) {
    const std::size_t other = random_.Below(trials.size());
    if (trials[other].state == TrialState::kStopped && trials[other].work > trials[chosen].work)
      chosen = other;
  }
  return trials[chosen].id;
}

// A point of the study's space, a part of a point, or something else.
std::string FaultWorld::AnyPoint() {
  switch (random_.Below(8)) {
    case 0: return R"({"n": 3})";
    case 1: return R"({"n": 2})";
    case 2: return R"({"n": 100000})";
    case 3: return R"({"momentum": 0.9})";
    default: {
      std::vector<double> unit(created_.spec.space.size());
      for (double& coordinate : unit) coordinate = random_.Uniform();
      return created_.spec.space.Encode(created_.spec.space.FromUnit(unit));
    }
  }
}

// What users do.
void FaultWorld::Interfere() {
  if (life_ == nullptr) return;
  const auto ask = [&](const wire::Ask& question) {
    ground_->Ask(question, /*waits=*/random_.Chance(0.7), [this](const wire::Answer& answer) {
      See(answer.ok ? "user served" : "user refused");
    });
  };
  if (Random more = random_.Fork("leaving").Fork(checker_.events()); more.Chance(0.15))
    return InterfereWithLeaving(more);
  if (Random copying = random_.Fork("copying").Fork(checker_.events());
      life_->site.Copies() && copying.Chance(0.3))
    return InterfereWithCopies(copying);
  switch (random_.Below(8)) {
    case 6: return ask({.verb = "stop", .study = "sim", .trial = AnyTrial(), .points = {}});
    case 0: return ask({.verb = "stop", .study = "sim", .trial = {}, .points = {}});
    case 1:
    case 2: return ask({.verb = "retry", .study = "sim", .trial = AnyTrial(), .points = {}});
    case 3: {
      std::vector<std::string> points = {AnyPoint()};
      if (random_.Chance(0.3)) points.push_back(AnyPoint());
      return ask({.verb = "enqueue", .study = "sim", .trial = {}, .points = std::move(points)});
    }
    case 4: return ask({.verb = "stop", .study = "another", .trial = {}, .points = {}});
    case 5: return ask({.verb = "dance", .study = "sim", .trial = {}, .points = {}});
    default: return Interrupt();
  }
}

void FaultWorld::Interrupt() {
  Controller& controller = *life_->controller;
  See("interrupted");
  if (life_->interrupted) {
    controller.workforce(kStudy).KillAll();
  } else if (random_.Chance(0.5)) {
    controller.Happened(DrainAsked{});  // the controller itself is to end
  } else {
    controller.Happened(StudyPauseAsked{kStudy});
  }
  if (!life_->interrupted) {
    // A second interrupt comes soon, or not at all.
    ground_->timeline().After(Around(std::chrono::milliseconds(100)), [this] {
      if (life_ != nullptr && life_->interrupted && !healed_ && random_.Chance(0.5)) Interrupt();
    });
  }
  life_->interrupted = true;
  After();
}

// Stops a running trial by hand, or one that has been told to leave already. Impatient users ask
// twice.
void FaultWorld::InterfereWithLeaving(Random drawn) {
  const Study& study = this->study();
  std::vector<TrialId> leaving = study.running;
  std::erase_if(leaving, [&](TrialId id) { return !study.trial(id).leaving; });
  const std::vector<TrialId>& some = leaving.empty() ? study.running : leaving;
  if (some.empty()) return;
  const TrialId chosen = some[drawn.Below(some.size())];
  for (std::uint64_t times = 1 + drawn.Below(2); times > 0; --times) {
    ground_->Ask(
        {.verb = "stop", .study = "sim", .trial = chosen, .points = {}}, /*waits=*/true,
        [this](const wire::Answer& answer) { See(answer.ok ? "user served" : "user refused"); });
  }
}

// Stops a fork that waits for its checkpoint, or interrupts twice while checkpoints are copied.
void FaultWorld::InterfereWithCopies(Random drawn) {
  std::vector<TrialId> forks;
  for (const Trial& trial : study().trials) {
    if (trial.state == TrialState::kWaiting && !trial.CanStart()) forks.push_back(trial.id);
  }
  if (!forks.empty() && drawn.Chance(0.5)) {
    const TrialId chosen = forks[drawn.Below(forks.size())];
    return ground_->Ask(
        {.verb = "stop", .study = "sim", .trial = chosen, .points = {}}, /*waits=*/true,
        [this](const wire::Answer& answer) { See(answer.ok ? "user served" : "user refused"); });
  }
  Interrupt();
  Interrupt();
}

// A user stops or retries a trial while no controller runs. The command line writes that down, and
// the next controller acts on it.
void FaultWorld::InterfereOffline() {
  Random drawn = random_.Fork("offline").Fork(checker_.events());
  if (healed_ || !drawn.Chance(ground_->faults().offline)) return;
  See("user offline");
  Batch batch;
  const std::uint64_t fails_read_at = disk_.fails_read_at();
  disk_.FailReadAt(MemoryDisk::kUnlimited);  // the checker's own reads must not fail
  const Status written = WriteDown(drawn, batch);
  disk_.FailReadAt(fails_read_at);
  if (!written) {
    checker_.InDoubt(std::move(batch));
    disk_.Crash(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
  }
}

Status FaultWorld::WriteDown(Random drawn, Batch& batch) {
  SLUICE_ASSIGN(auto ledger, Ledger::Open(kStore, disk_.disk()));
  SLUICE_ASSIGN(auto engine, RecoverEngine(ledger->database(), kStudy, Recover::kFromSnapshot));
  checker_.Recovered(*ledger, *engine, /*in_depth=*/false);
  const Study& study = *engine->study(kStudy);
  if (study.trials.empty()) return {};
  const Trial& chosen = study.trials[drawn.Below(study.trials.size())];
  const TrialKey key{kStudy, chosen.id};
  std::vector<EventBody> bodies = {DrainAsked{.only_starts = true}};
  if (CanBeStopped(chosen)) {
    bodies.emplace_back(TrialStopAsked{key});
  } else if (chosen.state == TrialState::kFailed || chosen.state == TrialState::kStopped) {
    bodies.emplace_back(RetryAsked{key});
  } else {
    return {};
  }
  SLUICE_ASSIGN(const Openings openings, Openings::Read(ledger->database()));
  const bool is_open = openings.IsOpen(kStudy);  // in the engine of a controller that died
  if (!is_open) batch.study = kStudy;
  // The clock may have been set back since the last event.
  const Time now = std::max(ground_->timeline().now() + clock_offset_, engine->now());
  std::uint64_t seq = Number(ledger->last());
  for (EventBody& body : bodies) {
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(body)});
    (void)engine->Apply(batch.events.back().second);
  }
  for (const TrialKey& changed : engine->TakeChanged()) {
    const Trial& trial = *engine->trial(changed);
    if (!trial.awaits_parameters)
      batch.trials.push_back({kStudy, trial, study.spec.space.Encode(trial.point)});
  }
  batch.studies.push_back(RowOf(study, is_open));
  SLUICE_TRY(ledger->Commit(batch));
  checker_.Durable(batch);
  batch = {};
  return {};
}

// The settings of an edited file: how the study is run, not what it searches.
StudyChange FaultWorld::DrawChange(Random drawn) const {
  StudyChange change = ChangeFrom(created_.spec);
  change.retries = static_cast<int>(drawn.Below(3));
  change.backoff = std::chrono::seconds(1 + drawn.Below(5));
  if (drawn.Chance(0.3)) change.parallelism = static_cast<int>(drawn.Below(8));
  if (drawn.Chance(0.2)) change.max_failures = static_cast<int>(2 + drawn.Below(6));
  if (change.timeouts.trial.count() > 0)
    change.timeouts.trial += std::chrono::seconds(drawn.Below(60));
  const bool fuses = created_.spec.demand.fused_most > 1;
  if (drawn.Chance(0.5)) change.policy = fuses ? "hydro" : "fifo";
  if (drawn.Chance(0.3)) change.policy = "confluence";
  return change;
}

}  // namespace sluice
