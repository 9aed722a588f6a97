#include "engine/parts/work_viewer.h"

#include <algorithm>
#include <limits>

#include "engine/parts/shape.h"

namespace sluice {
namespace {

int CountEnding(const Study& study) {
  return static_cast<int>(
      std::ranges::count_if(study.running, [&](TrialId id) { return IsEnding(study.trial(id)); }));
}

double BestLoss(const Study& study) {
  if (!IsSet(study.best)) return std::numeric_limits<double>::quiet_NaN();
  return study.spec.objective.Loss(study.trial(study.best).result);
}

}  // namespace

const WorkView& WorkViewer::View(const Policy& policy, const Studies& studies) {
  view_.items.clear();
  view_.studies.clear();
  shapes_.clear();
  view_.speeds = &state_.speeds;
  if (policy.LooksAtRunning()) {
    for (Study* study : studies) AddRunning(*study);
  }
  for (Study* study : studies) AddWaiting(*study);
  return view_;
}

void WorkViewer::AddRunning(Study& study) {
  for (TrialId id : study.running) {
    const Trial& trial = study.trial(id);
    if (IsEnding(trial)) continue;
    view_.items.push_back({.trial = {study.id, id},
                           .group = trial.group,
                           .demand = study.demand,
                           .done = trial.work,
                           .target = trial.target,
                           .shape = ShapeAt(study, trial.point),
                           .width = trial.width,
                           .running = true,
                           .leaving = trial.leaving,
                           .movable = trial.launch.CanBeMoved(),
                           .alone = trial.RunsAlone(),
                           .capacity = trial.launch.capacity,
                           .loss = study.spec.objective.Loss(trial.value),
                           .launch_reports = trial.launch.reports,
                           .heard = trial.launch.heard,
                           .pace = trial.pace.pace,
                           .forecast = ForecastOf(study, id),
                           .grant = &trial.launch.grant});
  }
}

// Adds the study itself, and those of its waiting trials that could start now.
void WorkViewer::AddWaiting(Study& study) {
  int ready = 0;
  for (TrialId id : study.waiting) {
    const Trial& trial = study.trial(id);
    if (!study.IsReady(trial, state_.now)) continue;
    ++ready;
    view_.items.push_back({.trial = {study.id, id},
                           .group = trial.group,
                           .demand = study.demand,
                           .done = trial.work,
                           .target = trial.target,
                           .shape = ShapeAt(study, trial.point),
                           .width = trial.width,
                           .alone = trial.RunsAlone(),
                           .admitted = IsSet(trial.launch.id) && !trial.resumed,
                           .loss = study.spec.objective.Loss(trial.value),
                           .since = std::max(trial.created, trial.launch.heard),
                           .pace = trial.pace.pace,
                           .forecast = ForecastOf(study, id)});
  }
  view_.studies.push_back(Of(study, ready));
}

StudyView WorkViewer::Of(Study& study, int ready) const {
  return {.study = study.id,
          .demand = study.demand,
          .parallelism = study.spec.parallelism,
          .shape = study.spec.name,
          .capacity = study.capacity,
          .several_shapes = study.several_shapes,
          .deadline = study.stops_at(),
          .max_budget = study.spec.stopper.max_budget,
          .typical_work = study.typical_work,
          .eta = study.spec.stopper.eta,
          .furthest = study.furthest,
          .start_up = Duration(static_cast<std::int64_t>(study.start_up.seconds * 1e6)),
          .start_up_known = study.start_up.count > 0,
          .leaving = study.leave,
          .leaving_known = study.leave_known,
          .running = static_cast<int>(study.running.size()),
          .ending = state_.PolicyOf(study).LooksAtRunning() ? CountEnding(study) : 0,
          .waiting = ready,
          .coming = static_cast<int>(study.asked - study.answered),
          .paused = static_cast<int>(study.count(TrialState::kPaused)),
          .not_ready = static_cast<int>(study.waiting.size()) - ready,
          .judged = study.IsJudged(),
          .ends_when_good_enough = !study.spec.stop_at.empty(),
          .all_go_on = study.stopper->Gathers(),
          .open = study.open() && !study.HoldsStarts(state_.now) && !study.has_enough_room &&
                  transfers_.MayMakeMore(study),
          .left = transfers_.Left(study),
          .best = BestLoss(study),
          .fresh = ForecastOf(study, TrialId{}),
          .weight = study.spec.weight,
          .leader_progress = transfers_.LeaderProgress(study)};
}

std::string_view WorkViewer::ShapeAt(const Study& study, const Point& point) {
  if (!HasSeveralShapes(study.spec)) return study.spec.name;
  return *shapes_.insert(ShapeOf(study.spec, point)).first;
}

// The forecast of a trial, or of a trial that has not begun if `trial` is not set. nullptr without
// a deadline: only a deadline makes forecasts worth the time that they take.
const Forecast* WorkViewer::ForecastOf(Study& study, TrialId trial) const {
  if (!state_.PolicyOf(study).LooksAtForecasts() || study.stops_at() == kNever) return nullptr;
  return IsSet(trial) ? &study.forecasts.Of(trial) : &study.forecasts.Fresh();
}

}  // namespace sluice
