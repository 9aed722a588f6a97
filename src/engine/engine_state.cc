#include "engine/engine_state.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "engine/read/templates.h"
#include "search/rungs/bracket_plan.h"

namespace sluice {
namespace {

// Whether the command line or the environment of a program states the budget of its launch.
bool TellsBudget(const StudySpec& spec) {
  const auto tells = [](const std::string& text) { return HasWord(text, "budget"); };
  return std::ranges::any_of(spec.program, tells) ||
         std::ranges::any_of(spec.environment | std::views::values, tells);
}

StudyId IdOf(const std::unique_ptr<Study>& study) { return study->id; }

}  // namespace

// Until it is measured, the gain from more devices is assumed to be that of HyperSched's ResNet-50.
EngineState::EngineState(std::unique_ptr<Policy> policy)
    : only_policy(std::move(policy)), speeds(SpeedPriors{.widths = *WidthTable("resnet50")}) {}

const Study* EngineState::FindStudy(StudyId id) const {
  const auto found = std::ranges::lower_bound(studies, id, {}, IdOf);
  return found == studies.end() || (*found)->id != id ? nullptr : found->get();
}

const Study* EngineState::FindStudy(std::string_view name) const {
  const auto found =
      std::ranges::find(studies, name, [](const auto& each) { return each->spec.name; });
  return found == studies.end() ? nullptr : found->get();
}

const Trial* EngineState::FindTrial(TrialKey key) const {
  const Study* owner = FindStudy(key.study);
  if (owner == nullptr || !IsSet(key.trial) || Number(key.trial) > owner->trials.size())
    return nullptr;
  return &owner->trial(key.trial);
}

Admission EngineState::Admit(TrialKey key, LaunchId launch, Position position) const {
  const Trial* known = FindTrial(key);
  if (known == nullptr || (known->launch.id != launch && !Planted("old-launch")))
    return Admission::kStale;
  if (position.seq != 0 && position.seq <= known->launch.seq && !Planted("seen-again"))
    return Admission::kSeen;
  if (position.offset != 0 && position.offset <= known->launch.offset) return Admission::kSeen;
  return known->state == TrialState::kRunning ? Admission::kNew : Admission::kStale;
}

Admission EngineState::Admit(const Reported& report) const {
  const Admission admission = Admit(report.trial, report.launch, report.position);
  if (admission != Admission::kNew) return admission;
  const Trial& known = *FindTrial(report.trial);
  if (report.work <= known.launch.work) return Admission::kBackwards;
  return report.work <= known.work && !Planted("retrained-again") ? Admission::kRetrained
                                                                  : Admission::kNew;
}

void EngineState::SetPolicy(Study& study) const {
  if (only_policy != nullptr) return;
  if (study.policy != nullptr && study.policy->traits().name == study.spec.policy) return;
  auto policy = MakePolicy(study.spec.policy);
  SLUICE_CHECK(policy.has_value(), "a study's policy was checked when its file was read");
  study.policy = std::move(*policy);
}

Study& EngineState::AddStudy(const StudyCreated& event) {
  auto study = std::make_unique<Study>();
  study->id = event.study;
  study->spec = event.spec;
  study->demand = event.spec.demand;
  study->source = event.source;
  study->folder = event.folder;
  study->seed = event.seed;
  study->rules = event.rules;
  study->tells_budget = TellsBudget(event.spec);
  study->trials_wanted = event.spec.trials;
  study->spec.stopper.seed = event.seed;
  study->spec.stopper.last_counts = event.spec.objective.of == Of::kLast;
  auto stopper = MakeStopper(study->spec.stopper);
  SLUICE_CHECK(stopper.has_value(), "a study's stopper was checked when the study was read");
  study->stopper = std::move(*stopper);
  study->typical_work = TypicalWork(study->spec.stopper);
  SetPolicy(*study);
  return Insert(std::move(study));
}

Study& EngineState::Insert(std::unique_ptr<Study> study) {
  const auto after = std::ranges::upper_bound(studies, study->id, {}, IdOf);
  return **studies.insert(after, std::move(study));
}

Trial& EngineState::MakeTrial(Study& study, Point point) {
  Trial trial;
  trial.id = TrialId(study.trials.size() + 1);
  trial.point = std::move(point);
  trial.created = now;
  trial.target = study.stopper->Admit(trial.id);
  return AddTrial(study, std::move(trial));
}

Trial& EngineState::AddTrial(Study& study, Trial trial) {
  study.JoinGroup(trial);
  study.trials.push_back(std::move(trial));
  ++study.counts[static_cast<std::size_t>(TrialState::kWaiting)];
  study.Enqueue(study.trials.back());
  MarkChanged(study, study.trials.back());
  return study.trials.back();
}

void EngineState::SetState(Study& study, Trial& trial, TrialState state) {
  --study.counts[static_cast<std::size_t>(trial.state)];
  ++study.counts[static_cast<std::size_t>(state)];
  trial.state = state;
  MarkChanged(study, trial);
}

void EngineState::MarkChanged(const Study& study, Trial& trial) {
  if (std::exchange(trial.changed, true)) return;
  changed.push_back({study.id, trial.id});
}

std::vector<TrialId> EngineState::BundleOf(const Study& study, const Trial& trial) const {
  const BundleId bundle = trial.launch.grant.bundle;
  if (!IsSet(bundle)) return {trial.id};
  std::vector<TrialId> members;
  for (const TrialId id : study.running) {
    if (study.trial(id).launch.grant.bundle == bundle) members.push_back(id);
  }
  return members;
}

void EngineState::SetCapacity(Study& study, const Trial& trial, int capacity) {
  for (const TrialId id : BundleOf(study, trial))
    study.trial(id).launch.capacity = std::max(capacity, 1);
}

void EngineState::SettleUse() {
  const ClusterSize size(cluster);
  for (auto& study : studies) study->use.Settle(now, size);
}

void EngineState::CountAnew() {
  SettleUse();
  for (auto& study : studies) study->use.had = 0;
}

// The numbers of its bundles may be taken here, so they get others.
void EngineState::TakeHeld(Study& study) {
  std::map<BundleId, BundleId> bundles;
  study.use.held = {};
  for (const TrialId id : study.running) {
    Grant& grant = study.trial(id).launch.grant;
    if (IsSet(grant.bundle)) {
      const auto [known, is_new] = bundles.try_emplace(grant.bundle);
      if (is_new) known->second = cluster.NewBundle();
      grant.bundle = known->second;
    }
    // A node that is not known here is down.
    while (Number(grant.node) > cluster.nodes().size())
      cluster.Join({.name = "", .devices = {}, .up = false});
    if (cluster.BundleSize(grant.bundle) == 0) study.use.held += HeldWith(grant);
    cluster.TakeAsMeasured(grant);
  }
}

// A bundle counts once: its members share what it holds.
void EngineState::Take(Study& study, const Grant& grant) {
  if (cluster.BundleSize(grant.bundle) == 0) {
    study.use.Settle(now, ClusterSize(cluster));
    study.use.held += HeldWith(grant);
  }
  cluster.Take(grant);
}

void EngineState::Release(Study& study, const Grant& grant) {
  cluster.Release(grant);
  if (cluster.BundleSize(grant.bundle) != 0) return;
  study.use.Settle(now, ClusterSize(cluster));
  study.use.held -= HeldWith(grant);
}

void EngineState::AskWake(Study& study, Time time) {
  study.wake = std::min(study.wake, time);
  if (time >= next_wake) return;
  next_wake = time;
  commands.push_back(WakeAt{time});
}

void EngineState::AskWakes(Study& study) {
  if (study.finished) return;
  if (study.ending == Finish::kNot && study.stops_at() > now) AskWake(study, study.stops_at());
  if (study.HoldsStarts(now)) AskWake(study, study.hold_until);
  for (TrialId id : study.waiting) {
    if (study.trial(id).not_before > now) AskWake(study, study.trial(id).not_before);
  }
  const Timeouts& limits = study.spec.timeouts;
  for (TrialId id : study.running) {
    const Trial& trial = study.trial(id);
    if (IsDecided(trial) || (trial.leaving && trial.leave_reason == StopReason::kTimeout)) continue;
    if (limits.trial.count() > 0) AskWake(study, trial.launch.started + limits.trial);
    if (limits.report.count() > 0) AskWake(study, trial.launch.heard + limits.report);
  }
}

}  // namespace sluice
