// What the users of a world do: they stop, retry, enqueue, interrupt, and edit the study's file.

#include <algorithm>

#include "ledger/openings.h"
#include "ledger/recovery.h"
#include "rig/fault_life.h"
#include "rig/fault_world.h"

namespace sluice {

FaultTenant& FaultWorld::AnyTenant() {
  return *tenants_[tenants_.size() == 1 ? 0 : random_.Below(tenants_.size())];
}

TrialId FaultWorld::AnyTrial(const FaultTenant& tenant) {
  const auto& trials = StudyOf(tenant).trials;
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
std::string FaultWorld::AnyPoint(const FaultTenant& tenant) {
  switch (random_.Below(8)) {
    case 0: return R"({"n": 3})";
    case 1: return R"({"n": 2})";
    case 2: return R"({"n": 100000})";
    case 3: return R"({"momentum": 0.9})";
    default: {
      const Space& space = tenant.created.spec.space;
      std::vector<double> unit(space.size());
      for (double& coordinate : unit) coordinate = random_.Uniform();
      return space.Encode(space.FromUnit(unit));
    }
  }
}

void FaultWorld::Ask(const FaultTenant& tenant, const wire::Ask& question, bool waits) {
  tenant.ground->Ask(question, waits, [this](const wire::Answer& answer) {
    See(answer.ok ? "user served" : "user refused");
  });
}

// What users do.
void FaultWorld::Interfere() {
  if (life_ == nullptr) return;
  FaultTenant& tenant = AnyTenant();
  if (!Drives(tenant)) return InterfereWithAlone(tenant);
  if (Random more = random_.Fork("leaving").Fork(checker_.events()); more.Chance(0.15))
    return InterfereWithLeaving(tenant, more);
  if (Random copying = random_.Fork("copying").Fork(checker_.events());
      life_->lodgings.at(tenant.id())->site.Copies() && copying.Chance(0.3))
    return InterfereWithCopies(tenant, copying);
  if (options_.several && random_.Chance(0.3)) return Interrupt(tenant);
  wire::Ask question{.verb = "stop", .study = tenant.name(), .trial = {}, .points = {}};
  switch (random_.Below(8)) {
    case 0: break;
    case 1:
    case 2:
      question.verb = "retry";
      question.trial = AnyTrial(tenant);
      break;
    case 3:
      question.verb = "enqueue";
      question.points = {AnyPoint(tenant)};
      if (random_.Chance(0.3)) question.points.push_back(AnyPoint(tenant));
      break;
    case 4: question.study = "another"; break;
    case 5: question.verb = "dance"; break;
    case 6: question.trial = AnyTrial(tenant); break;
    default: return Interrupt(tenant);
  }
  Ask(tenant, question, /*waits=*/random_.Chance(0.7));
}

// A user pauses one study, or interrupts the controller, which then drains all of them.
void FaultWorld::Interrupt(FaultTenant& tenant) {
  Controller& controller = *life_->controller;
  See("interrupted");
  const bool again = life_->drains || life_->interrupted.contains(tenant.id());
  if (life_->drains) {
    for (const auto& [id, lodging] : life_->lodgings) controller.workforce(id).KillAll();
  } else if (again) {
    controller.workforce(tenant.id()).KillAll();
  } else if (random_.Chance(options_.several ? 0.2 : 0.5)) {
    life_->drains = true;
    controller.Happened(DrainAsked{});
  } else {
    life_->interrupted.insert(tenant.id());
    controller.Happened(StudyPauseAsked{tenant.id()});
  }
  if (!again) {
    // A second interrupt comes soon, or not at all.
    timeline_.After(Around(std::chrono::milliseconds(100)), [this, &tenant] {
      if (!Drives(tenant) || healed_) return;
      const bool was = life_->drains || life_->interrupted.contains(tenant.id());
      if (was && random_.Chance(0.5)) Interrupt(tenant);
    });
  }
  After();
}

// Stops a running trial by hand, or one that has been told to leave already. Impatient users ask
// twice.
void FaultWorld::InterfereWithLeaving(const FaultTenant& tenant, Random drawn) {
  const Study& study = StudyOf(tenant);
  std::vector<TrialId> leaving = study.running;
  std::erase_if(leaving, [&](TrialId id) { return !study.trial(id).leaving; });
  const std::vector<TrialId>& some = leaving.empty() ? study.running : leaving;
  if (some.empty()) return;
  const TrialId chosen = some[drawn.Below(some.size())];
  for (std::uint64_t times = 1 + drawn.Below(2); times > 0; --times) {
    Ask(tenant, {.verb = "stop", .study = tenant.name(), .trial = chosen, .points = {}},
        /*waits=*/true);
  }
}

// Stops a fork that waits for its checkpoint, or interrupts twice while checkpoints are copied.
void FaultWorld::InterfereWithCopies(FaultTenant& tenant, Random drawn) {
  std::vector<TrialId> forks;
  for (const Trial& trial : StudyOf(tenant).trials) {
    if (trial.state == TrialState::kWaiting && !trial.CanStart()) forks.push_back(trial.id);
  }
  if (!forks.empty() && drawn.Chance(0.5)) {
    const TrialId chosen = forks[drawn.Below(forks.size())];
    return Ask(tenant, {.verb = "stop", .study = tenant.name(), .trial = chosen, .points = {}},
               /*waits=*/true);
  }
  Interrupt(tenant);
  Interrupt(tenant);
}

// A user stops or retries a trial of a study that is alone, while the controller has others.
void FaultWorld::InterfereWithAlone(FaultTenant& tenant) {
  if (!tenant.is_written || healed_ || life_->drains) return;
  if (!Settle()) return GiveUp();
  See("user beside");
  (void)WithPen([&](Ledger& ledger) { return WriteDown(tenant, Random(random_.Next()), ledger); });
}

// A user stops or retries a trial while no controller runs. The command line writes that down, and
// the next controller acts on it.
void FaultWorld::InterfereOffline() {
  Random drawn = random_.Fork("offline").Fork(checker_.events());
  if (healed_ || !drawn.Chance(ground().faults().offline)) return;
  FaultTenant& tenant = AnyTenant();
  if (!tenant.is_written) return;
  See("user offline");
  (void)WithPen([&](Ledger& ledger) { return WriteDown(tenant, drawn, ledger); });
}

Status FaultWorld::WriteDown(FaultTenant& tenant, Random drawn, Ledger& ledger) {
  const StudyId id = tenant.id();
  SLUICE_ASSIGN(auto engine, RecoverEngine(ledger.database(), id, Recover::kFromSnapshot));
  Look([&] { checker_.Recovered(ledger, *engine, /*in_depth=*/false); });
  const Study& study = *engine->study(id);
  if (study.trials.empty()) return {};
  const Trial& chosen = study.trials[drawn.Below(study.trials.size())];
  const TrialKey key{id, chosen.id};
  std::vector<EventBody> bodies = {DrainAsked{.only_starts = true}};
  if (CanBeStopped(chosen)) {
    bodies.emplace_back(TrialStopAsked{key});
  } else if (chosen.state == TrialState::kFailed || chosen.state == TrialState::kStopped) {
    bodies.emplace_back(RetryAsked{key});
  } else {
    return {};
  }
  Batch batch;
  SLUICE_ASSIGN(const Openings openings, Openings::Read(ledger.database()));
  const bool is_open = openings.IsOpen(id);  // in the engine of a controller that died
  if (!is_open) batch.study = id;
  // The clock may have been set back since the last event.
  const Time now = std::max(timeline_.now() + clock_offset_, engine->now());
  std::uint64_t seq = Number(ledger.last());
  for (EventBody& body : bodies) {
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(body)});
    (void)engine->Apply(batch.events.back().second);
  }
  for (const TrialKey& changed : engine->TakeChanged()) {
    const Trial& trial = *engine->trial(changed);
    if (!trial.awaits_parameters)
      batch.trials.push_back({id, trial, study.spec.space.Encode(trial.point)});
  }
  batch.studies.push_back(RowOf(study, is_open));
  const Status written = ledger.Commit(batch);
  if (!written) {
    checker_.InDoubt(std::move(batch));
    return written;
  }
  checker_.Durable(batch);
  return {};
}

// The settings of an edited file: how the study is run, not what it searches.
StudyChange FaultWorld::DrawChange(const FaultTenant& tenant, Random drawn) const {
  StudyChange change = ChangeFrom(tenant.created.spec);
  change.retries = static_cast<int>(drawn.Below(3));
  change.backoff = std::chrono::seconds(1 + drawn.Below(5));
  if (drawn.Chance(0.3)) change.parallelism = static_cast<int>(drawn.Below(8));
  if (drawn.Chance(0.2)) change.max_failures = static_cast<int>(2 + drawn.Below(6));
  if (change.timeouts.trial.count() > 0)
    change.timeouts.trial += std::chrono::seconds(drawn.Below(60));
  const bool fuses = tenant.created.spec.demand.fused_most > 1;
  if (drawn.Chance(0.5)) change.policy = fuses ? "hydro" : "fifo";
  if (drawn.Chance(0.3)) change.policy = "confluence";
  return change;
}

}  // namespace sluice
