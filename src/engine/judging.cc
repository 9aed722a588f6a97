// What a report means: which trial is the best so far, how quick the trial is, and what the stopper
// makes of it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/planted.h"
#include "base/text.h"
#include "cluster/width.h"
#include "engine/engine.h"

namespace sluice {
namespace {

bool Better(const Objective& objective, double value, double than) {
  if (std::isnan(value)) return false;
  return std::isnan(than) || objective.Loss(value) < objective.Loss(than);
}

// Looks at all trials. Where the last report counts, the trial that was best may now be worse than
// others.
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

// The value by which a stopper compares the trial at its latest report. A trial that diverged is
// out, however good it was. Under rules 2 and before, rungs took the value at the rung.
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

}  // namespace

void Engine::On(const Reported& event) {
  if (Admit(event) != Admission::kNew) return;
  Study& study = *FindStudy(event.trial.study);
  Trial& trial = *LiveLaunch(event.trial, event.launch, event.position);
  if (policy_->LooksAtSpeeds()) Measure(study, trial, event);
  trial.work = event.work;
  trial.launch_work = event.work;
  trial.heard = now_;
  trial.lost = false;
  ++trial.reports;
  ++trial.launch_reports;
  study.furthest = std::max(study.furthest, trial.work);
  // With its first new report a launch can be moved.
  const bool movable_now = trial.launch_reports == 1 && policy_->LooksAtRunning();
  if (movable_now || policy_->AsksAtReports()) replan_ = true;

  const std::string& metric = study.spec.objective.metric;
  const auto objective = std::ranges::find(event.metrics, metric, &Metrics::value_type::first);
  const bool missing = objective == event.metrics.end();
  trial.value = missing ? std::numeric_limits<double>::quiet_NaN() : objective->second;
  if (missing && Planted("missing-best")) trial.value = 0;
  if (policy_->LooksAtForecasts())
    study.forecasts.Add(trial.id, trial.work, study.spec.objective.Loss(trial.value));
  if (!missing || Planted("missing-best")) TakeResult(study, trial);
  PassLevels(study, trial);
  if (std::isnan(trial.value)) {
    trial.note = missing
                     ? fmt::format("no '{}' in the report at {} {}{}", metric, study.spec.unit,
                                   trial.work, study.rules < 2 ? "" : OthersText(event.metrics))
                     : fmt::format("'{}' was NaN at {} {}", metric, study.spec.unit, trial.work);
  }
  Changed(study, trial);
  Judge(study, trial);
  // After the verdict: a trial that is complete with this report is not stopped by it.
  CheckStopAt(study, event);
}

// Updates the trial's result and the best trial of the study.
void Engine::TakeResult(Study& study, Trial& trial) {
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
  if (policy_->TransfersEarly() && IsFollowed(study)) replan_ = true;
  BoundCheckpoints(study);  // the checkpoint of the trial that was best may go now
}

// A report that passes several levels at once counts at each of them.
void Engine::PassLevels(const Study& study, Trial& trial) {
  const std::vector<Work>& levels = study.spec.sampler.levels;
  while (trial.by_level.size() < levels.size() && levels[trial.by_level.size()] <= trial.work)
    trial.by_level.push_back(trial.result);
}

// Measures the speed of a trial over at least a second, since reports may come in bursts. The time
// before the first report does not count: part of it went into starting up.
void Engine::Measure(Study& study, Trial& trial, const Reported& report) {
  constexpr Duration kShortest = std::chrono::seconds(1);
  if (trial.launch_reports == 0) {
    // The time to the first new report is not known where the launch first repeated work of earlier
    // launches.
    trial.to_first = trial.heard == trial.started ? now_ - trial.started : Duration(0);
    trial.window = now_;
    trial.window_work = report.work;
    return;
  }
  if (trial.launch_reports == 1 && trial.to_first.count() > 0)
    study.start_up.Learn(std::max(Duration(0), trial.to_first - (now_ - trial.heard)));
  if (trial.window == kNever) {  // its bundle or its controller has changed since
    trial.window = now_;
    trial.window_work = report.work;
    return;
  }
  if (now_ - trial.window < kShortest) return;
  SpeedSituation situation{.shape = study.spec.name, .kind = "", .width = WidthOf(trial.grant)};
  if (IsSet(trial.grant.bundle)) situation.fused = cluster_.BundleSize(trial.grant.bundle);
  for (const DeviceId device : trial.grant.devices) {
    const NodeId node = trial.grant.node;
    const auto& devices = cluster_.node(node).devices;
    if (Number(device) >= devices.size()) return;  // the device is gone, and the launch with it
    situation.SetDevice(devices[Number(device)]);
    const Milli others = cluster_.Used(node)[Number(device)].share - trial.grant.gpu_share;
    situation.neighbours = std::max(situation.neighbours, others);
  }
  const auto work = static_cast<double>(report.work - trial.window_work);
  const double seconds = Seconds(now_ - trial.window);
  speeds_.Learn(situation, work, seconds);
  if (policy_->LooksAtPaces()) MeasurePace(trial, situation, work / seconds);
  trial.window = now_;
  trial.window_work = report.work;
}

// Some trials of a shape are slower than others because of the layers or batches they have. A
// trial's pace is a geometric mean over its last measurements.
void Engine::MeasurePace(Trial& trial, const SpeedSituation& situation, double speed) {
  constexpr std::uint32_t kMemory = 8;
  const double usual = speeds_.Ask(situation).work_per_second;
  if (!(speed > 0) || !(usual > 0)) return;
  trial.paced = std::min(trial.paced + 1, kMemory);
  trial.pace *= std::pow(speed / usual / trial.pace, 1.0 / trial.paced);
}

// A trial joined the bundle or left it: what its members did before says nothing about their speed
// now.
void Engine::MeasureAnew(BundleId bundle) {
  if (!IsSet(bundle)) return;
  for (auto& study : studies_) {
    for (TrialId id : study->running) {
      Trial& trial = study->trials[Number(id) - 1];
      if (trial.grant.bundle == bundle) trial.window = kNever;
    }
  }
}

// A width is settled for one target, so a new target drops it.
void Engine::SetTarget(Trial& trial, Work target) {
  if (trial.target != target) trial.width = 0;
  trial.target = target;
}

// What the stopper makes of the trial's latest report.
void Engine::Judge(Study& study, Trial& trial) {
  // A trial that yields, pauses or is tried again later does not send this report again: it is
  // judged now or never.
  const bool over = trial.leave_reason == StopReason::kComplete ||
                    trial.leave_reason == StopReason::kStopped ||
                    trial.leave_reason == StopReason::kStudy ||
                    (Planted("paused-unheard") && trial.leave_reason == StopReason::kPaused);
  if (trial.leaving && over) {
    // Reports past the end of a trial are kept, but a program that goes on all the same is told
    // again.
    if (trial.leave_reason == StopReason::kComplete) Leave(study, trial, StopReason::kComplete);
    return;
  }
  const bool complete = trial.work >= study.spec.stopper.max_budget;
  if (!trial.exempt) {
    const double value = JudgedBy(study, trial);
    const double loss = Planted("turned-round") ? value : study.spec.objective.Loss(value);
    const bool was_ready = study.stopper->Ready();  // then there was no room to resume a trial
    for (const Ruling& ruling : study.stopper->Report(trial.id, trial.work, loss)) {
      if (!(complete && ruling.trial == trial.id)) Follow(study, ruling);
    }
    if (!was_ready && study.stopper->Ready()) replan_ = true;
  }
  if (complete) Leave(study, trial, StopReason::kComplete);
}

// Only the trial that reports, and so runs, is told to go on or to pause (search/stopper.h).
void Engine::Follow(Study& study, const Ruling& ruling) {
  SLUICE_CHECK(IsSet(ruling.trial) && Number(ruling.trial) <= study.trials.size(),
               "a stopper rules on trials it was shown");
  Trial& trial = study.trials[Number(ruling.trial) - 1];
  switch (ruling.verdict) {
    case Verdict::kGoOn:
      SetTarget(trial, ruling.target);
      if (study.stopper->Gathers()) JoinGroup(study, trial);
      Changed(study, trial);
      if (!trial.leaving) {
        if (!Planted("silent-budget"))
          commands_.push_back(SetBudget{{study.id, trial.id}, trial.launch, trial.target});
      } else if (trial.leave_reason == StopReason::kPaused) {
        // The trial went on while it was to pause, and went far enough: it comes back once it has
        // left.
        trial.leave_reason = StopReason::kYield;
      }
      return;
    case Verdict::kPause: return Leave(study, trial, StopReason::kPaused);
    case Verdict::kFork: {
      const Trial& fork = MakeFork(study, ruling);
      trial.note = fmt::format("replaced by trial {}, a fork of trial {}", Number(fork.id),
                               Number(fork.parent));
      [[fallthrough]];
    }
    case Verdict::kStop:
      if (trial.state == TrialState::kRunning) {
        Leave(study, trial, StopReason::kStopped);
      } else if (trial.state == TrialState::kPaused || trial.state == TrialState::kWaiting) {
        Close(study, trial, TrialState::kStopped);
      }
      return;
  }
}

void Engine::CheckStopAt(Study& study, const Reported& report) {
  for (const StopAt& goal : study.spec.stop_at) {
    for (const auto& [name, value] : report.metrics) {
      if (name == goal.metric && goal.Reached(value)) End(study, Finish::kTarget);
    }
  }
}

}  // namespace sluice
