#include "engine/parts/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/planted.h"
#include "base/text.h"

namespace sluice {
namespace {

bool Better(const Objective& objective, double value, double than) {
  if (std::isnan(value)) return false;
  return std::isnan(than) || objective.Loss(value) < objective.Loss(than);
}

// Looks at all trials. Where the last report counts, the trial that was best so far may have become
// worse than others.
TrialId BestOf(const Study& study) {
  TrialId best{};
  double result = std::numeric_limits<double>::quiet_NaN();
  for (const Trial& trial : study.trials) {
    if (!Better(study.spec.objective, trial.result, result)) continue;
    best = trial.id;
    result = trial.result;
  }
  return best;
}

// The value by which a stopper compares the trial at its latest report. A trial with NaN as its
// latest value is compared by NaN, however good its result was. Under rules 2 and before, rungs
// took the value at the rung.
double JudgedBy(const Study& study, const Trial& trial) {
  const bool at_rungs = ComparesAtRungs(study.spec.stopper.name) && study.rules >= 3;
  if (!at_rungs || std::isnan(trial.value) || Planted("rung-value")) return trial.value;
  return trial.result;
}

// ", which has accuracy, loss"
std::string OthersText(const Metrics& metrics) {
  constexpr std::size_t kMost = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(metrics.size(), kMost); ++i)
    names += fmt::format("{}{}", i == 0 ? ", which has " : ", ", Shown(metrics[i].first));
  return names;
}

// A report that passes several levels at once counts at each of them.
void PassLevels(const Study& study, Trial& trial) {
  const std::vector<Work>& levels = study.spec.sampler.levels;
  while (trial.by_level.size() < levels.size() && levels[trial.by_level.size()] <= trial.work)
    trial.by_level.push_back(trial.result);
}

}  // namespace

void Judge::TakeReport(Study& study, Trial& trial, const Reported& report) {
  const Policy& policy = state_.PolicyOf(study);
  if (policy.LooksAtSpeeds()) speed_meter_.Measure(study, trial, report);
  trial.work = report.work;
  trial.launch.work = report.work;
  trial.launch.heard = state_.now;
  trial.lost = false;
  ++trial.reports;
  ++trial.launch.reports;
  study.furthest = std::max(study.furthest, trial.work);
  // A launch can be moved once it has reported something new.
  const bool movable_now = trial.launch.reports == 1 && policy.LooksAtRunning();
  if (movable_now || policy.AsksAtReports()) study.replan = true;

  const std::string& metric = study.spec.objective.metric;
  const auto objective = std::ranges::find(report.metrics, metric, &Metrics::value_type::first);
  const bool missing = objective == report.metrics.end();
  trial.value = missing ? std::numeric_limits<double>::quiet_NaN() : objective->second;
  if (missing && Planted("missing-best")) trial.value = 0;
  if (policy.LooksAtForecasts())
    study.forecasts.Add(trial.id, trial.work, study.spec.objective.Loss(trial.value));
  if (!missing || Planted("missing-best")) TakeResult(study, trial);
  PassLevels(study, trial);
  if (std::isnan(trial.value)) {
    trial.note = missing
                     ? fmt::format("no '{}' in the report at {} {}{}", metric, study.spec.unit,
                                   trial.work, study.rules < 2 ? "" : OthersText(report.metrics))
                     : fmt::format("'{}' was NaN at {} {}", metric, study.spec.unit, trial.work);
  }
  state_.MarkChanged(study, trial);
  AskStopper(study, trial);
  // This comes after the verdict, so that the end of the study does not stop a trial that is
  // complete with this report.
  CheckStopAt(study, report);
}

// Updates the trial's result and the best trial of the study.
void Judge::TakeResult(Study& study, Trial& trial) {
  const Objective& objective = study.spec.objective;
  const bool better = Better(objective, trial.value, trial.result);
  const bool last = objective.of == Of::kLast && !Planted("never-worse");
  if (!better && !last) return;
  trial.result = trial.value;
  trial.result_work = trial.work;
  const TrialId before = study.best;
  if (trial.id == before) {
    if (!better) study.best = BestOf(study);
  } else if (!IsSet(before) || Better(objective, trial.result, study.trial(before).result)) {
    study.best = trial.id;
  }
  if (study.best == before) return;
  transfers_.PlanFollowers(study);
  checkpoints_.Bound(study);  // the former best trial's checkpoint may be removed now
}

// Asks the stopper to judge the trial's latest report.
void Judge::AskStopper(Study& study, Trial& trial) {
  // A trial that yields, pauses or is tried again later does not send this report again, so the
  // report is judged now.
  const bool over = trial.leave_reason == StopReason::kComplete ||
                    trial.leave_reason == StopReason::kStopped ||
                    trial.leave_reason == StopReason::kStudy ||
                    (Planted("paused-unheard") && trial.leave_reason == StopReason::kPaused);
  if (trial.leaving && over) {
    // The trial is over, so the report is kept but not judged. A program that goes on past the full
    // budget is told again to leave.
    if (trial.leave_reason == StopReason::kComplete)
      departures_.Leave(study, trial, StopReason::kComplete);
    return;
  }
  const bool complete = trial.work >= study.spec.stopper.max_budget;
  if (!trial.exempt) {
    const double value = JudgedBy(study, trial);
    const double loss = Planted("turned-round") ? value : study.spec.objective.Loss(value);
    const bool was_ready = study.stopper->Ready();  // a paused trial was already waiting for room
    for (const Ruling& ruling : study.stopper->Report(trial.id, trial.work, loss)) {
      if (!(complete && ruling.trial == trial.id)) Follow(study, ruling);
    }
    if (!was_ready && study.stopper->Ready()) study.replan = true;
  }
  if (complete) departures_.Leave(study, trial, StopReason::kComplete);
}

// Verdicts to go on or to pause are only given to the trial that reports, so that trial is
// running (search/stopper.h).
void Judge::Follow(Study& study, const Ruling& ruling) {
  SLUICE_CHECK(IsSet(ruling.trial) && Number(ruling.trial) <= study.trials.size(),
               "a stopper rules on trials it was shown");
  Trial& trial = study.trial(ruling.trial);
  switch (ruling.verdict) {
    case Verdict::kGoOn:
      trial.SetTarget(ruling.target);
      if (study.stopper->Gathers()) study.JoinGroup(trial);
      state_.MarkChanged(study, trial);
      if (!trial.leaving) {
        if (!Planted("silent-budget"))
          state_.commands.push_back(SetBudget{{study.id, trial.id}, trial.launch.id, trial.target});
      } else if (trial.leave_reason == StopReason::kPaused) {
        // The trial went on after it was told to pause, and the stopper now promotes it. It waits
        // for a new launch once this one has left.
        trial.leave_reason = StopReason::kYield;
      }
      return;
    case Verdict::kPause: return departures_.Leave(study, trial, StopReason::kPaused);
    case Verdict::kFork: {
      const Trial& fork = forks_.Make(study, ruling);
      trial.note = fmt::format("replaced by trial {}, a fork of trial {}", Number(fork.id),
                               Number(fork.parent));
      [[fallthrough]];
    }
    case Verdict::kStop:
      if (trial.state == TrialState::kRunning) {
        departures_.Leave(study, trial, StopReason::kStopped);
      } else if (trial.state == TrialState::kPaused || trial.state == TrialState::kWaiting) {
        Close(study, trial, TrialState::kStopped);
      }
      return;
  }
}

void Judge::CheckStopAt(Study& study, const Reported& report) {
  for (const StopAt& goal : study.spec.stop_at) {
    for (const auto& [name, value] : report.metrics) {
      if (name == goal.metric && goal.Reached(value)) departures_.EndStudy(study, Finish::kTarget);
    }
  }
}

void Judge::CloseIfAllMade(Study& study) {
  if (study.asked != study.answered || (study.ending == Finish::kNot && !transfers_.AllMade(study)))
    return;
  if (Planted("never-closed")) return;
  for (const Ruling& ruling : study.stopper->Closed()) Follow(study, ruling);
}

void Judge::Close(Study& study, Trial& trial, TrialState state) {
  std::erase(study.waiting, trial.id);
  state_.SetState(study, trial, state);
  if (state != TrialState::kStopped) EndSearch(study, trial, state == TrialState::kFailed);
  CountOver(study, trial);
}

// Counts a trial that is over, and ends the study if too many trials have failed: running trials
// then save and leave. If the file does not say how many may fail, the study ends when its first
// five trials have all failed without a report.
void Judge::CountOver(Study& study, const Trial& trial) {
  constexpr std::uint32_t kFirst = 5;
  const bool failed = trial.state == TrialState::kFailed;
  ++study.over;
  study.failed += failed ? 1 : 0;
  study.fruitless += failed && trial.reports == 0 ? 1 : 0;
  if (!failed || study.rules < 2) return;
  const auto most = static_cast<std::uint32_t>(study.spec.max_failures);
  if (most > 0 ? study.failed >= most : study.over == kFirst && study.fruitless == kFirst)
    departures_.EndStudy(study, Finish::kFailures);
}

void Judge::EndSearch(Study& study, Trial& trial, bool failed) {
  if (trial.exempt) return;
  for (const Ruling& ruling : study.stopper->End(trial.id, failed)) Follow(study, ruling);
}

}  // namespace sluice
