#pragma once

#include "engine/trial.h"

namespace sluice {

// Whether a trial may go from one state to another within one event. `retry_asked`: the event was
// RetryAsked. Tests check every change of state with this function.
constexpr bool IsLegalChange(TrialState from, TrialState to, bool retry_asked) {
  using enum TrialState;
  if (from == to) return true;
  switch (from) {
    case kWaiting: return to == kRunning || to == kStopped || to == kComplete;
    case kRunning: return true;
    case kPaused: return to == kWaiting || to == kRunning || to == kComplete || to == kStopped;
    case kComplete: return false;
    case kStopped:
    case kFailed: return retry_asked && (to == kWaiting || to == kRunning || to == kComplete);
  }
  return false;
}

}  // namespace sluice
