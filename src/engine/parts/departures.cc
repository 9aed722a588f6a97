#include "engine/parts/departures.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace sluice {

void Departures::Leave(Study& study, Trial& trial, StopReason reason) {
  SLUICE_CHECK(trial.state == TrialState::kRunning, "only a running trial can leave");
  if (!(IsDecided(trial) && reason == StopReason::kLease)) trial.leave_reason = reason;
  if (!std::exchange(trial.leaving, true)) trial.leave_sent = state_.now;
  state_.commands.push_back(StopLaunch{{study.id, trial.id}, trial.launch.id, reason});
  state_.MarkChanged(study, trial);
}

void Departures::SaveAndComeBack(Study& study, Trial& trial) {
  Leave(study, trial, StopReason::kPaused);
  trial.leave_reason = StopReason::kYield;
}

void Departures::Drain() {
  state_.draining = true;
  for (auto& study : state_.studies) Drain(*study, StopReason::kDrain);
}

void Departures::Pause(Study& study, StopReason reason) {
  study.paused = true;
  state_.CountAnew();
  Drain(study, reason);
}

void Departures::Drain(Study& study, StopReason reason) {
  const StopReason its = study.rules < 2 ? StopReason::kYield : reason;
  for (TrialId id : study.running) {
    Trial& trial = study.trial(id);
    const bool yields = trial.leaving && trial.leave_reason == StopReason::kYield;
    if (!trial.leaving || (yields && its == StopReason::kDrain)) Leave(study, trial, its);
  }
}

void Departures::EndStudy(Study& study, Finish reason) {
  if (study.ending != Finish::kNot && reason != Finish::kAsked) return;
  study.ending = reason;
  study.replan = true;
  state_.CountAnew();
  if (reason == Finish::kDeadline || reason == Finish::kFailures) return SaveAll(study);
  for (TrialId id : study.running) {
    Trial& trial = study.trial(id);
    if (!IsEnding(trial)) Leave(study, trial, StopReason::kStudy);
  }
}

// Every running trial saves and leaves, because the deadline has come or too many trials have
// failed. The trials go on if the study is resumed.
void Departures::SaveAll(Study& study) {
  for (TrialId id : study.running) {
    Trial& trial = study.trial(id);
    if (!IsEnding(trial)) SaveAndComeBack(study, trial);
  }
}

void Departures::EmptyBundle(Study& study, const Trial& hung) {
  state_.SetCapacity(study, hung, 1);
  for (const TrialId id : state_.BundleOf(study, hung)) {
    Trial& trial = study.trial(id);
    if (id != hung.id && !IsEnding(trial)) SaveAndComeBack(study, trial);
  }
}

void Departures::CheckTimeouts(Study& study) {
  const Timeouts& limits = study.spec.timeouts;
  for (TrialId id : study.running) {
    Trial& trial = study.trial(id);
    if (IsDecided(trial) || (trial.leaving && trial.leave_reason == StopReason::kTimeout)) continue;
    const bool too_long =
        limits.trial.count() > 0 && state_.now >= trial.launch.started + limits.trial;
    const bool too_quiet =
        limits.report.count() > 0 && state_.now >= trial.launch.heard + limits.report;
    if (!too_long && !too_quiet) continue;
    trial.note =
        too_long
            ? fmt::format("ran longer than its time-out of {}", FormatDuration(limits.trial))
            : fmt::format("no report within its time-out of {}", FormatDuration(limits.report));
    Leave(study, trial, StopReason::kTimeout);
    EmptyBundle(study, trial);
  }
}

// A study that ends at its deadline, or because too many trials failed, does not wait for launches
// that yield: kPaused forces them out after the grace period, kYield does not.
StopReason ToldReason(const Study& study, const Trial& trial) {
  const bool ends = study.ending == Finish::kDeadline || study.ending == Finish::kFailures;
  const bool late = ends && trial.leave_reason == StopReason::kYield;
  return late ? StopReason::kPaused : trial.leave_reason;
}

}  // namespace sluice
