#include "rig/stoppers/rung_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "search/samplers/explore.h"

namespace sluice {
namespace {

bool HasMetric(const Objective& objective, const Metrics& metrics) {
  return std::ranges::find(metrics, objective.metric, &Metrics::value_type::first) != metrics.end();
}

double LossOf(const Objective& objective, const Metrics& metrics) {
  const auto metric =
      std::ranges::find(metrics, objective.metric, [](const auto& named) { return named.first; });
  if (metric == metrics.end()) return std::numeric_limits<double>::quiet_NaN();
  return objective.direction == Direction::kMaximize ? -metric->second : metric->second;
}

bool AllMade(const Study& study) {
  if (study.asked != study.answered) return false;
  const bool no_points = study.exhausted && study.queue.empty();
  return study.ending != Finish::kNot || no_points || study.proposed() >= study.trials_wanted;
}

bool Leaves(const Trial& trial, StopReason reason) {
  return trial.state == TrialState::kRunning && trial.leaving && trial.leave_reason == reason;
}

}  // namespace

void RungOracle::Before(const Engine& engine, const Event& event) {
  taken_ = judged_ = born_ = false;
  if (engine.study(study_) == nullptr) return;
  const Study& study = *engine.study(study_);
  if (const auto* report = std::get_if<Reported>(&event.body)) {
    taken_ = engine.Admit(*report) == Admission::kNew;
    if (!taken_) return;
    const bool sent = Leaves(study.trial(report->trial.trial), StopReason::kStudy);
    const Fate fate = At(report->trial.trial).fate;
    judged_ = (fate == Fate::kGoing || fate == Fate::kPaused) && !sent;
  } else if (const auto* stop = std::get_if<TrialStopAsked>(&event.body)) {
    const Trial* trial = engine.trial(stop->trial);
    if (trial != nullptr && CanBeStopped(*trial)) At(trial->id).by_hand = true;
  } else if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
    born_ = IsSet(proposed->fork) && study.trial(proposed->fork).awaits_parameters;
  }
}

std::string RungOracle::After(const Engine& engine, const Event& event) {
  const Study& study = *engine.study(study_);
  if (plain_ == nullptr) plain_ = MakePlainStopper(study.spec.stopper);
  if (const auto* retry = std::get_if<RetryAsked>(&event.body)) {
    if (study.trial(retry->trial.trial).exempt) At(retry->trial.trial).fate = Fate::kOver;
  }
  if (const auto* report = std::get_if<Reported>(&event.body); report != nullptr && taken_)
    Hear(study, *report);
  TakeEnds(study);
  TakeNewTrials(study);
  if (AllMade(study)) Follow(study, plain_->Closed());
  TrialId wrong = FirstWrong(study);
  while (IsSet(wrong) && problem_.empty() && ResumeNext(study)) wrong = FirstWrong(study);
  if (problem_.empty() && IsSet(wrong)) problem_ = Describe(study.trial(wrong));
  TakeNewTrials(study);
  if (problem_.empty() && known_.size() != study.trials.size())
    problem_ = fmt::format("trial {} is a fork, and no trial has lost", known_.size() + 1);
  if (const auto* proposed = std::get_if<Proposed>(&event.body)) CheckPoint(study, *proposed);
  std::erase_if(open_, [&](TrialId id) {
    Known& known = At(id);
    known.sent = Leaves(study.trial(id), StopReason::kStudy);
    return known.fate == Fate::kOver ||
           (known.fate == Fate::kStopped && study.trial(id).state == TrialState::kStopped);
  });
  return problem_;
}

void RungOracle::Hear(const Study& study, const Reported& report) {
  Known& known = At(report.trial.trial);
  known.work = report.work;
  known.loss = LossOf(study.spec.objective, report.metrics);
  const bool last = study.spec.objective.of == Of::kLast;
  if (last && HasMetric(study.spec.objective, report.metrics)) known.result = known.loss;
  if (!last) known.result = std::fmin(known.result, known.loss);
  CheckResult(study, report.trial.trial);
  if (!judged_) return;
  if (known.work >= study.spec.stopper.max_budget) known.fate = Fate::kGoing;  // until it ends
  const bool by_result = ComparesAtRungs(study.spec.stopper.name) && !std::isnan(known.loss);
  Follow(study,
         plain_->Report(report.trial.trial, known.work, by_result ? known.result : known.loss));
}

// Checks the result of the trial, and the best of the study.
void RungOracle::CheckResult(const Study& study, TrialId id) {
  const auto differs = [](double a, double b) {
    return a != b && !(std::isnan(a) && std::isnan(b));
  };
  const Objective& objective = study.spec.objective;
  if (differs(objective.Loss(study.trial(id).result), At(id).result))
    problem_ = fmt::format("trial {} counts with another result than it has", Number(id));
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const Known& known : known_) best = std::fmin(best, known.result);
  const double found = IsSet(study.best) ? objective.Loss(study.trial(study.best).result)
                                         : std::numeric_limits<double>::quiet_NaN();
  if (differs(found, best)) problem_ = "the best trial is not the best";
}

// Takes the ends of trials whose fate is kGoing, or that a user stopped. Other fates stay when a
// launch ends.
void RungOracle::TakeEnds(const Study& study) {
  const std::size_t before = open_.size();  // forks are added behind these
  for (std::size_t i = 0; i < before; ++i) {
    const TrialId id = open_[i];
    const TrialState state = study.trial(id).state;
    const bool failed = state == TrialState::kFailed || state == TrialState::kStopped;
    const bool by_hand = At(id).by_hand && state == TrialState::kStopped;
    if (At(id).fate == Fate::kStopped || At(id).fate == Fate::kOver) continue;
    if (!by_hand && At(id).fate != Fate::kGoing) continue;
    if (!failed && state != TrialState::kComplete) continue;
    if (state == TrialState::kStopped && !At(id).sent && !by_hand) continue;
    At(id).fate = Fate::kOver;
    Follow(study, plain_->End(id, failed));
  }
}

void RungOracle::TakeNewTrials(const Study& study) {
  while (known_.size() < study.trials.size() && !study.trials[known_.size()].IsFork()) {
    const Trial& trial = study.trials[known_.size()];
    // An enqueued point becomes a trial only when no paused trial is left to resume.
    while (trial.enqueued && ResumeNext(study)) continue;
    known_.push_back({.target = plain_->Admit(trial.id)});
    open_.push_back(trial.id);
  }
}

// Resumes the next group of paused trials. Returns false if there is none.
bool RungOracle::ResumeNext(const Study& study) {
  const auto group = plain_->Next();
  if (!group) return false;
  for (const Advance& member : group->members) {
    Known& known = At(member.trial);
    known.fate = Fate::kGoing;
    known.target = member.target;
  }
  TakeEnds(study);
  return true;
}

void RungOracle::Follow(const Study& study, const std::vector<Ruling>& rulings) {
  for (const Ruling& ruling : rulings) {
    Known& known = At(ruling.trial);
    switch (ruling.verdict) {
      case Verdict::kGoOn:
        known.fate = Fate::kGoing;
        known.target = ruling.target;
        break;
      case Verdict::kPause: known.fate = Fate::kPaused; break;
      case Verdict::kStop: known.fate = Fate::kStopped; break;
      case Verdict::kFork:
        known.fate = Fate::kStopped;
        TakeFork(study, ruling);
        break;
    }
  }
}

void RungOracle::TakeFork(const Study& study, const Ruling& ruling) {
  const std::size_t index = known_.size();
  if (index >= study.trials.size() || !study.trials[index].IsFork()) {
    if (problem_.empty())
      problem_ =
          fmt::format("trial {} has lost, and no fork takes its place", Number(ruling.trial));
    return;
  }
  const Trial& fork = study.trials[index];
  if (fork.parent != ruling.from && problem_.empty())
    problem_ = fmt::format("trial {} is a fork of trial {}, and not of trial {}", Number(fork.id),
                           Number(fork.parent), Number(ruling.from));
  known_.push_back({.target = ruling.target});
  open_.push_back(fork.id);
  plain_->AdmitFork(fork.id, ruling.trial);
}

bool RungOracle::Agrees(const Study& study, const Trial& trial) {
  Known& known = At(trial.id);
  if (known.by_hand) return true;
  const bool pauses = trial.state == TrialState::kPaused || Leaves(trial, StopReason::kPaused);
  const bool stops = trial.state == TrialState::kStopped || Leaves(trial, StopReason::kStopped);
  const bool goes = trial.state == TrialState::kWaiting || trial.state == TrialState::kRunning;
  // If the copied checkpoint is ahead of the parent's reports, the target of the fork is raised to
  // one unit beyond the checkpoint. The target stays raised if the copy is lost and the fork trains
  // from the beginning.
  const bool anew = trial.forked_at == 0 && trial.copying == Copying::kNot;
  if (trial.IsFork() && trial.reports == 0 && (anew || trial.target == trial.forked_at + 1))
    known.target = std::max(known.target, trial.target);
  // Without a stopper, a plan may give a trial up.
  const bool given_up = stops && trial.note.starts_with("given up");
  if (!study.IsJudged() && known.fate == Fate::kGoing && given_up) known.fate = Fate::kStopped;
  switch (known.fate) {
    case Fate::kGoing: return goes && !pauses && !stops && trial.target == known.target;
    case Fate::kPaused: return pauses && trial.target == known.target;
    case Fate::kStopped: return stops;
    case Fate::kOver: return true;
  }
  return false;
}

TrialId RungOracle::FirstWrong(const Study& study) {
  const auto wrong =
      std::ranges::find_if(open_, [&](TrialId id) { return !Agrees(study, study.trial(id)); });
  return wrong == open_.end() ? TrialId{} : *wrong;
}

std::string RungOracle::Describe(const Trial& trial) const {
  const Known& known = known_[Number(trial.id) - 1];
  constexpr std::array kFates = {"go on", "pause", "be stopped", "be over"};
  return fmt::format("trial {} at {} with {} is to {}{}, and is {}{} on its way to {}",
                     Number(trial.id), known.work, known.loss,
                     kFates[static_cast<std::size_t>(known.fate)],
                     fmt::format(" (to {})", known.target), Name(trial.state),
                     trial.leaving ? " and leaving" : "", trial.target);
}

// Checks that a proposed point can be run, and that a fork differs from its parent.
void RungOracle::CheckPoint(const Study& study, const Proposed& event) {
  if (!event.point || !problem_.empty()) return;
  const Space& space = study.spec.space;
  if (!space.Contains(*event.point)) problem_ = "what was proposed is not in the space";
  if (!born_) return;
  const Trial& fork = study.trial(event.fork);
  const Point& parent = study.trial(fork.parent).point;
  const std::vector<bool> may_change = MayChange(space, study.spec.stopper.mutate);
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    const bool at_end = parent[i] <= parameter.low || parent[i] >= parameter.high;
    if (!may_change[i] && !std::isnan(parent[i]) && fork.point[i] != parent[i])
      problem_ = fmt::format("trial {} is a fork with another '{}', which may not change",
                             Number(fork.id), parameter.name);
    if (may_change[i] && !parameter.Cardinality() && fork.point[i] == parent[i] && !at_end)
      problem_ =
          fmt::format("trial {} is a fork with its parent's '{}'", Number(fork.id), parameter.name);
  }
}

}  // namespace sluice
